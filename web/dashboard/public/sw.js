// Shows a page of its own when the server cannot be reached. Nothing else is kept: figures are always those of now.
const PAGE = "/app/offline.html";

addEventListener("install", (event) => event.waitUntil(caches.open("offline").then((cache) => cache.add(PAGE))));
addEventListener("fetch", (event) => {
  if (event.request.mode === "navigate") event.respondWith(fetch(event.request).catch(() => caches.match(PAGE)));
});
