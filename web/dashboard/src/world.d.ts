declare module "virtual:world" {
  const world: { width: number; height: number; shapes: [code: string, path: string][]; dots: [code: string, x: number, y: number][]; centers: Record<string, [x: number, y: number]> };
  export default world;
}

declare module "virtual:sprite" {
  const sprite: { url: string; nameOf: (dimension: string, value: string) => string | undefined };
  export default sprite;
}
