declare module "virtual:world" {
  const world: { width: number; height: number; shapes: [code: string, path: string][]; dots: [code: string, x: number, y: number][] };
  export default world;
}
