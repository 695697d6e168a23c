// uPlot hands navigator.language to Intl as it is, which throws for "C" or "en-US@posix". The chart formats its numbers itself.
export function uplot() {
  return {
    name: "waymark-uplot",
    transform(code, id) {
      if (!/\/uPlot\b.*\.js|deps\/uplot/.test(id)) return null;
      if (!code.includes("nav.language")) this.error("build/uplot.mjs: uPlot no longer reads nav.language");
      return { code: code.replaceAll("nav.language", '"en"'), map: null };
    },
  };
}
