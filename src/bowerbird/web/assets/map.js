// Draws counts on a map with Leaflet, over outlines of countries that lie beside it: no tile is asked for anywhere.
"use strict";

bowerbird.map = async (figure) => {
  const told = await bowerbird.numbers(figure.dataset.map);
  figure.querySelector("details .scroll")?.replaceChildren(bowerbird.table(
    ["Place", "Count", "Latitude", "Longitude"], told.points.map((point) => [point.label || "", point.count, point.lat, point.lon]),
  ));
  await Promise.all([bowerbird.load("/assets/foreign/leaflet.css"), bowerbird.load("/assets/foreign/leaflet.js"), bowerbird.load("/assets/foreign/topojson-client.min.js")]);
  const world = await bowerbird.numbers("/assets/foreign/countries-110m.json");
  const canvas = figure.querySelector(".canvas");
  canvas.style.height = `${Number(figure.dataset.height) || 420}px`;
  const map = L.map(canvas, { attributionControl: false, minZoom: 1, maxZoom: 8, zoomSnap: 0.25, preferCanvas: true, maxBounds: [[-85, -200], [85, 200]] }).setView([25, 5], 1);
  const land = L.geoJSON(whole(topojson.feature(world, world.objects.countries)), { interactive: false }).addTo(map);
  const largest = Math.max(1, ...told.points.map((point) => point.count));
  const marks = told.points.map((point) => {
    const mark = L.circleMarker([point.lat, point.lon], { radius: 4 + 18 * Math.sqrt(point.count / largest), weight: 1 }).addTo(map);
    const words = bowerbird.element("span", {}, `${point.label || "here"}: ${bowerbird.shown(point.count)}`);
    const href = point.href && point.href.startsWith("/") ? point.href : null;
    return mark.bindPopup(href ? bowerbird.element("a", { href }, words) : words);
  });
  const paint = () => {
    const line = bowerbird.resolved("--line-strong"), fill = bowerbird.resolved("--raised"), accent = bowerbird.resolved("--accent");
    land.setStyle({ color: line, weight: 0.6, fillColor: fill, fillOpacity: 1 });
    for (const mark of marks) mark.setStyle({ color: accent, fillColor: accent, fillOpacity: 0.35 });
  };
  paint();
  addEventListener("theme", paint);
  if (marks.length) map.fitBounds(L.featureGroup(marks).getBounds().pad(0.2), { maxZoom: 5 });
};

// Countries across the date line are drawn on one side of it, not as a line around the world; Antarctica lies around the pole.
function whole(countries) {
  const leaps = (ring) => ring.some(([east], at) => at && Math.abs(east - ring[at - 1][0]) > 180) && ring.every(([, north]) => north > -60);
  const shifted = (ring) => (leaps(ring) ? ring.map(([east, north]) => [east < 0 ? east + 360 : east, north]) : ring);
  for (const { geometry } of countries.features) {
    const parts = geometry.type === "Polygon" ? [geometry.coordinates] : geometry.coordinates;
    for (const part of parts) part.forEach((ring, at) => { part[at] = shifted(ring); });
  }
  return countries;
}
