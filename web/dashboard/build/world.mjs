// Draws the world map at build time: the module "virtual:world" contains one SVG path per country, and a circle for each
// country that is too small for the coarse map.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { geoArea, geoCentroid, geoNaturalEarth1, geoPath } from "d3-geo";
import { feature } from "topojson-client";

const WIDTH = 700;
const HEIGHT = 336;
const require = createRequire(import.meta.url);
const numericToAlpha2 = require("i18n-iso-countries").getNumericCodes();

function countries(resolution) {
  const topology = JSON.parse(readFileSync(require.resolve(`world-atlas/countries-${resolution}.json`), "utf8"));
  return feature(topology, topology.objects.countries).features;
}

/** Kosovo has no number; ISO leaves XK to its users. */
function alpha2(country) {
  return country.properties.name === "Kosovo" ? "XK" : numericToAlpha2[country.id];
}

/** Whole numbers relative to the previous point: half the bytes of absolute ones. Points that fall together are dropped. */
function relative(path) {
  let at = [0, 0];
  const ring = (text) => {
    const points = text.split("L").map((point) => point.split(",").map(Math.round));
    const steps = points.map((to) => {
      const step = [to[0] - at[0], to[1] - at[1]];
      at = to;
      return step;
    });
    at = points[0]; // "z" returns to the start
    const [start, ...rest] = steps;
    const lines = rest.filter(([x, y]) => x !== 0 || y !== 0);
    return { start, lines, end: points[0] };
  };
  let from = [0, 0];
  const rings = path.split(/[MZ]/).filter(Boolean).map((text) => {
    at = from;
    const { start, lines, end } = ring(text);
    if (lines.length < 3) return "";
    from = end;
    return `m${start.join(" ")}l${lines.map((step) => step.join(" ")).join(" ")}z`;
  });
  return rings.join("").replaceAll(" -", "-");
}

/** Of the largest part: that of all parts of France lies in the Atlantic. */
function center(projection, { geometry }) {
  const parts = geometry.type === "Polygon" ? [geometry.coordinates] : geometry.coordinates;
  const polygons = parts.map((coordinates) => ({ type: "Polygon", coordinates }));
  const largest = polygons.reduce((best, each) => (geoArea(each) > geoArea(best) ? each : best));
  return projection(geoCentroid(largest)).map(Math.round);
}

export function drawWorld() {
  const coarse = countries("110m").filter((country) => alpha2(country) && alpha2(country) !== "AQ");
  const projection = geoNaturalEarth1().precision(0).fitSize([WIDTH, HEIGHT], { type: "FeatureCollection", features: coarse });
  const path = geoPath(projection).digits(1);
  const shapes = coarse.map((country) => [alpha2(country), relative(path(country))]);
  const drawn = new Set(shapes.map(([code]) => code));
  const dots = countries("50m")
    .filter((country) => alpha2(country) && alpha2(country) !== "AQ" && !drawn.has(alpha2(country)))
    .filter((country) => !drawn.has(alpha2(country)) && drawn.add(alpha2(country)) && geoArea(country) > 0)
    .map((country) => [alpha2(country), ...projection(geoCentroid(country)).map((at) => Math.round(at * 10) / 10)]);
  const centers = Object.fromEntries([...coarse.map((country) => [alpha2(country), center(projection, country)]), ...dots.map(([code, x, y]) => [code, [Math.round(x), Math.round(y)]])]);
  return { width: WIDTH, height: HEIGHT, shapes, dots, centers };
}

export function world() {
  const id = "virtual:world";
  return {
    name: "waymark-world",
    resolveId: (source) => (source === id ? `\0${id}` : undefined),
    load: (source) => (source === `\0${id}` ? `export default ${JSON.stringify(drawWorld())}` : undefined),
  };
}
