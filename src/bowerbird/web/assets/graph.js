// Draws people and ties with sigma; where they stand is computed here.
"use strict";

bowerbird.graph = async (figure) => {
  const told = await bowerbird.numbers(figure.dataset.graph);
  const names = new Map(told.nodes.map((node) => [node.id, node.label || node.id]));
  figure.querySelector("details .scroll")?.replaceChildren(bowerbird.table(
    ["From", "To", "Kind", "Weight"],
    told.edges.map((edge) => [names.get(edge.from) ?? edge.from, names.get(edge.to) ?? edge.to, edge.kind ?? "", edge.weight ?? 1]),
  ));
  const canvas = figure.querySelector(".canvas");
  const groups = told.groups?.length ? told.groups : [...new Set(told.nodes.map((node) => node.group ?? ""))];
  if (!told.nodes.length) {
    canvas.replaceChildren(bowerbird.element("p", { class: "note" }, "There is nobody to draw yet."));
    return;
  }
  await bowerbird.load("/assets/foreign/graphology.umd.min.js");
  await bowerbird.load("/assets/foreign/graphology-library.min.js");
  await bowerbird.load("/assets/foreign/sigma.min.js");
  await bowerbird.load(document.documentElement.dataset.plots);
  canvas.style.height = `${Number(figure.dataset.height) || 520}px`;
  legend();
  const graph = built(told);
  arranged(graph);
  let drawing = drawn(canvas, graph);
  addEventListener("theme", () => { drawing.kill(); paint(graph); legend(); drawing = drawn(canvas, graph); });

  function paint(of) {
    const colours = bowerbird.palette();
    of.forEachNode((id, at) => of.setNodeAttribute(id, "color", colours[groups.indexOf(at.group) % colours.length]));
    of.forEachEdge((id) => of.setEdgeAttribute(id, "color", bowerbird.resolved("--thread")));
  }

  // Only where the groups have names.
  function legend() {
    figure.querySelector(".legend")?.remove();
    if (!told.groups?.length) return;
    const colours = bowerbird.palette(), list = bowerbird.element("ul", { class: "legend" });
    groups.forEach((group, at) => {
      const swatch = bowerbird.element("span", { class: "swatch" });
      swatch.style.background = colours[at % colours.length];
      list.append(bowerbird.element("li", {}, swatch, bowerbird.element("span", {}, group)));
    });
    canvas.before(list);
  }

  function built() {
    const made = new graphology.Graph({ multi: false, type: "directed" });
    const largest = Math.max(1, ...told.nodes.map((node) => node.size ?? 1));
    told.nodes.forEach((node, at) => {
      const angle = (2 * Math.PI * at) / told.nodes.length;
      const size = 4 + 12 * Math.sqrt((node.size ?? 1) / largest);
      made.mergeNode(node.id, { label: node.label || node.id, size, group: node.group ?? "", href: node.href, x: node.x ?? Math.cos(angle), y: node.y ?? Math.sin(angle) });
    });
    const heaviest = Math.max(1, ...told.edges.map((edge) => edge.weight ?? 1));
    for (const edge of told.edges) {
      if (made.hasNode(edge.from) && made.hasNode(edge.to)) made.mergeEdge(edge.from, edge.to, { size: 1 + 3 * ((edge.weight ?? 1) / heaviest), type: "arrow" });
    }
    paint(made);
    return made;
  }

  function arranged(of) {
    if (told.nodes.every((node) => node.x !== undefined)) return;
    const layout = graphologyLibrary.layoutForceAtlas2;
    layout.assign(of, { iterations: of.order > 1000 ? 60 : 250, settings: { ...layout.inferSettings(of), gravity: 1, scalingRatio: 8, barnesHutOptimize: of.order > 500 } });
  }

  function drawn(place, of) {
    place.replaceChildren();
    const made = new Sigma(of, place, { labelColor: { color: bowerbird.resolved("--ink") }, labelSize: 12, labelFont: "system-ui, sans-serif", labelRenderedSizeThreshold: 7, stagePadding: 70, renderEdgeLabels: false, allowInvalidContainer: true, defaultDrawNodeHover: hover });
    made.on("clickNode", ({ node }) => { const href = of.getNodeAttribute(node, "href"); if (href && href.startsWith("/")) location.href = href; });
    return made;
  }

  // As sigma does it, in the colours of the theme.
  function hover(context, data, settings) {
    context.font = `${settings.labelSize}px ${settings.labelFont}`;
    const width = context.measureText(data.label).width + 8;
    context.fillStyle = bowerbird.resolved("--raised");
    context.strokeStyle = bowerbird.resolved("--line-strong");
    context.beginPath();
    context.roundRect(data.x + data.size + 1, data.y - 10, width, 20, 4);
    context.fill();
    context.stroke();
    context.fillStyle = bowerbird.resolved("--ink");
    context.fillText(data.label, data.x + data.size + 5, data.y + settings.labelSize / 3);
  }
};
