(() => {
  const page = Math.random().toString(36).slice(2);
  const tell = (seen) => fetch(`/looking?${page}=${seen ? 1 : 0}`, { cache: "no-store", keepalive: true }).catch(() => {});
  document.addEventListener("visibilitychange", () => tell(!document.hidden));
  window.addEventListener("pagehide", () => tell(false));
  window.addEventListener("pageshow", () => tell(!document.hidden));
})();
