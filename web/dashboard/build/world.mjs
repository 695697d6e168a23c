// Draws the world map at build time: the module "virtual:world" contains one SVG path per country, and a circle for each
// country that is not on the coarse map, or too small there to see and to meet.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { geoArea, geoCentroid, geoNaturalEarth1, geoPath } from "d3-geo";
import { feature } from "topojson-client";

const WIDTH = 1400;
const HEIGHT = 672;
const SMALL = 12;
const require = createRequire(import.meta.url);
const numericToAlpha2 = require("i18n-iso-countries").getNumericCodes();

/** Points of a line that are further than this from it stay: a third of a unit of the map, in degrees. */
const TOLERANCE = (0.6 * 360) / WIDTH;

function distance([x, y], [fromX, fromY], [toX, toY]) {
  const length = Math.hypot(toX - fromX, toY - fromY);
  return length === 0 ? Math.hypot(x - fromX, y - fromY) : Math.abs((toX - fromX) * (fromY - y) - (fromX - x) * (toY - fromY)) / length;
}

/** The line with fewer points, by Douglas and Peucker. */
function simplify(points) {
  const [first, last] = [points[0], points.at(-1)];
  const far = points.map((point) => distance(point, first, last));
  const at = far.indexOf(Math.max(...far));
  return far[at] <= TOLERANCE ? [first, last] : [...simplify(points.slice(0, at + 1)).slice(0, -1), ...simplify(points.slice(at))];
}

/** An arc, whose points are steps of a grid. Neighbours share it, so that no gap opens between them. */
function simplifyArc(arc, [scaleX, scaleY]) {
  let at = [0, 0];
  const points = arc.map(([x, y]) => (at = [at[0] + x, at[1] + y]));
  const kept = simplify(points.map(([x, y]) => [x * scaleX, y * scaleY])).map(([x, y]) => [Math.round(x / scaleX), Math.round(y / scaleY)]);
  return kept.map(([x, y], index) => (index === 0 ? [x, y] : [x - kept[index - 1][0], y - kept[index - 1][1]]));
}

function countries(resolution) {
  const topology = JSON.parse(readFileSync(require.resolve(`world-atlas/countries-${resolution}.json`), "utf8"));
  if (resolution === "110m") topology.arcs = topology.arcs.map((arc) => simplifyArc(arc, topology.transform.scale));
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
  // Its edge lies in the Bering Strait: none of the large countries crosses it.
  const projection = geoNaturalEarth1().rotate([-11, 0]).precision(0).fitSize([WIDTH, HEIGHT], { type: "FeatureCollection", features: coarse });
  const path = geoPath(projection).digits(1);
  const shapes = coarse.map((country) => [alpha2(country), relative(path(country))]).filter(([, shape]) => shape);
  const drawn = new Set(shapes.map(([code]) => code));
  const dots = countries("50m")
    .filter((country) => alpha2(country) && alpha2(country) !== "AQ" && !drawn.has(alpha2(country)))
    .filter((country) => !drawn.has(alpha2(country)) && drawn.add(alpha2(country)) && geoArea(country) > 0)
    .map((country) => [alpha2(country), ...projection(geoCentroid(country)).map((at) => Math.round(at * 10) / 10)]);
  for (const country of coarse) {
    const [[left, top], [right, bottom]] = path.bounds(country);
    if (Math.max(right - left, bottom - top) < SMALL) dots.push([alpha2(country), ...center(projection, country)]);
  }
  const centers = Object.fromEntries(coarse.filter((country) => drawn.has(alpha2(country))).map((country) => [alpha2(country), center(projection, country)]));
  return { width: WIDTH, height: HEIGHT, shapes, dots, centers };
}

export function world() {
  const id = "virtual:world";
  return {
    name: "waymark-world",
    resolveId: (source) => (source === id ? `\0${id}` : undefined),
    load: (source) => (source === `\0${id}` ? `const world = ${JSON.stringify(drawWorld())};
for (const [code, x, y] of world.dots) world.centers[code] = [x, y];
export default world;` : undefined),
  };
}
