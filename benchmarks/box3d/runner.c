// A scene of boxes and hulls in Box3D, stepped on command: see run.py.
//
// From standard input: friction, gravity, and one line a body,
//   density (0: fixed), friction, x y z, qw qx qy qz, corners n, and n times x y z in the frame of the body,
// then "step <n>", which answers with the milliseconds of each step, or "poses", which answers with x y z qw qx qy qz of each
// body that moves, or "end".
#include "box3d/box3d.h"
#include "box3d/collision.h"
#include "box3d/math_functions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static b3WorldId makeWorld( double gravity, int workers )
{
	b3WorldDef def = b3DefaultWorldDef();
	def.gravity = (b3Vec3){ 0.0f, 0.0f, (float)-gravity };
	def.enableSleep = false;
	def.workerCount = (uint32_t)workers;
	return b3CreateWorld( &def );
}

// A box where the half sides are given, else the hull of the corners.
static void addShape( b3BodyId body, const b3ShapeDef* def, int count )
{
	float h[3];
	if ( count == 0 )
	{
		if ( scanf( "%f %f %f", h, h + 1, h + 2 ) != 3 ) exit( 2 );
		b3BoxHull box = b3MakeBoxHull( h[0], h[1], h[2] );
		b3CreateHullShape( body, def, &box.base );
		return;
	}
	b3Vec3* points = malloc( count * sizeof( b3Vec3 ) );
	for ( int i = 0; i < count; ++i )
	{
		if ( scanf( "%f %f %f", &points[i].x, &points[i].y, &points[i].z ) != 3 ) exit( 2 );
	}
	b3HullData* hull = b3CreateHull( points, count, count );
	if ( hull == NULL ) exit( 3 );
	b3CreateHullShape( body, def, hull );
	free( points );
}

int main( void )
{
	double dt, gravity;
	int bodies, substeps, workers;
	if ( scanf( "%lf %d %d %lf %d", &dt, &substeps, &workers, &gravity, &bodies ) != 5 ) return 2;
	b3WorldId world = makeWorld( gravity, workers );
	b3BodyId* moving = malloc( bodies * sizeof( b3BodyId ) );
	int count = 0;
	for ( int i = 0; i < bodies; ++i )
	{
		float density, friction, x[3], q[4];
		int corners;
		int got = scanf( "%f %f %f %f %f %f %f %f %f %d", &density, &friction, x, x + 1, x + 2, q, q + 1, q + 2, q + 3, &corners );
		if ( got != 10 ) return 2;
		b3BodyDef def = b3DefaultBodyDef();
		def.type = density > 0.0f ? b3_dynamicBody : b3_staticBody;
		def.position = (b3Pos){ x[0], x[1], x[2] };
		def.rotation = (b3Quat){ { q[1], q[2], q[3] }, q[0] };
		b3ShapeDef shape = b3DefaultShapeDef();
		shape.density = density;
		shape.baseMaterial.friction = friction;
		b3BodyId body = b3CreateBody( world, &def );
		addShape( body, &shape, corners );
		if ( density > 0.0f ) moving[count++] = body;
	}
	char word[16];
	while ( scanf( "%15s", word ) == 1 && strcmp( word, "end" ) != 0 )
	{
		if ( strcmp( word, "step" ) == 0 )
		{
			int steps;
			if ( scanf( "%d", &steps ) != 1 ) return 2;
			for ( int i = 0; i < steps; ++i )
			{
				uint64_t start = b3GetTicks();
				b3World_Step( world, (float)dt, substeps );
				printf( "%.6f%c", b3GetMilliseconds( start ), i + 1 < steps ? ' ' : '\n' );
			}
		}
		else
		{
			for ( int i = 0; i < count; ++i )
			{
				b3Pos p = b3Body_GetPosition( moving[i] );
				b3Quat q = b3Body_GetRotation( moving[i] );
				printf( "%.9g %.9g %.9g %.9g %.9g %.9g %.9g\n", (double)p.x, (double)p.y, (double)p.z, q.s, q.v.x, q.v.y, q.v.z );
			}
		}
		fflush( stdout );
	}
	b3DestroyWorld( world );
	return 0;
}
