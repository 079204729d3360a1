/** The picture of the README: objects on the left, what the provider does with them, and what becomes of that on the right. */

/** What the provider does with each kind. The first three lines lead to platforms, the others to the new cluster. */
const rows = [
  { kind: 'ProviderConfig', work: 'check the platform, publish a profile' },
  { kind: 'Host', work: 'compare the server, give it to one Machine' },
  { kind: 'Machine', work: 'walk its steps: disks, boot, Talos' },
  { kind: 'Cluster', work: 'secrets, Machines, etcd, proof' },
  { kind: 'AccessRequest', work: 'roles with a token, or trust in OIDC' },
] as const;

const size = { width: 960, height: 400 };
const panelTop = 20;
const panelHeight = 360;
const rowHeight = 60;
const boxHeight = 42;
const firstRowTop = 66;
const columns = {
  objects: { x: 20, width: 190 },
  provider: { x: 270, width: 350 },
  outside: { x: 690, width: 250 },
} as const;
const padding = 15;
const clusterPanelTop = firstRowTop + 3 * rowHeight + 4;

const style = `
    text { font: 14px system-ui, sans-serif; fill: #1f2328; }
    .title { font-weight: 600; }
    .panel { fill: #f6f8fa; stroke: #d1d9e0; }
    .box { fill: #ffffff; stroke: #59636e; }
    .line { stroke: #59636e; stroke-width: 1.5; fill: none; }
    .head { fill: #59636e; }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc; }
      .panel { fill: #151b23; stroke: #3d444d; }
      .box { fill: #0d1117; stroke: #9198a1; }
      .line { stroke: #9198a1; }
      .head { fill: #9198a1; }
    }
  `;

interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** The SVG as text. The same source gives the same bytes. */
export function renderPicture(): string {
  const { width, height } = size;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title">`,
    '  <!-- Made by npm run generate. -->',
    '  <title id="title">From objects on the platform cluster to machines and clusters</title>',
    `  <style>${style}</style>`,
    '  <defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path class="head" d="M0 0 8 4 0 8z"/></marker></defs>',
    ...panels().map((line) => `  ${line}`),
    ...rows.flatMap((row, index) => renderRow(row, index)).map((line) => `  ${line}`),
    ...outsideBoxes().map((line) => `  ${line}`),
    '</svg>',
  ];
  return `${parts.join('\n')}\n`;
}

function panels(): string[] {
  const { objects, provider, outside } = columns;
  const [y, height] = [panelTop, panelHeight];
  const platformsHeight = clusterPanelTop - panelTop - 24;
  return [
    ...panel({ ...objects, y, height }, 'Platform cluster'),
    ...panel({ ...provider, y, height }, 'cluster-provider-talos: one process'),
    ...panel({ ...outside, y, height: platformsHeight }, 'Platforms'),
    ...panel(
      { ...outside, y: clusterPanelTop, height: panelTop + panelHeight - clusterPanelTop },
      'Kubernetes on Talos',
    ),
    arrow([middle(outside), panelTop + platformsHeight], [middle(outside), clusterPanelTop]),
  ];
}

function renderRow({ kind, work }: (typeof rows)[number], index: number): string[] {
  const { objects, provider, outside } = columns;
  const y = firstRowTop + index * rowHeight;
  const line = y + boxHeight / 2;
  return [
    ...box({ x: objects.x + padding, y, width: objects.width - 2 * padding, height: boxHeight }, kind),
    ...box({ x: provider.x + padding, y, width: provider.width - 2 * padding, height: boxHeight }, work),
    arrow([objects.x + objects.width - padding, line], [provider.x + padding, line]),
    arrow([provider.x + provider.width - padding, line], [outside.x, line]),
  ];
}

function outsideBoxes(): string[] {
  const { x, width } = columns.outside;
  const inner = { x: x + padding, width: width - 2 * padding, height: boxHeight };
  return [
    ...box({ ...inner, y: firstRowTop }, 'TrueNAS: virtual machines'),
    ...box({ ...inner, y: firstRowTop + rowHeight }, 'Hetzner Robot: bare servers'),
    ...box({ ...inner, y: clusterPanelTop + 40 }, 'API server, etcd, nodes'),
  ];
}

const middle = ({ x, width }: { readonly x: number; readonly width: number }): number => x + width / 2;

const rectangle = (name: string, { x, y, width, height }: Rectangle): string =>
  `<rect class="${name}" x="${x}" y="${y}" width="${width}" height="${height}" rx="6"/>`;

const panel = (area: Rectangle, title: string): string[] => [
  rectangle('panel', area),
  `<text class="title" x="${middle(area)}" y="${area.y + 26}" text-anchor="middle">${title}</text>`,
];

const box = (area: Rectangle, words: string): string[] => [
  rectangle('box', area),
  `<text x="${middle(area)}" y="${area.y + area.height / 2 + 5}" text-anchor="middle">${words}</text>`,
];

const arrow = ([x1, y1]: readonly [number, number], [x2, y2]: readonly [number, number]): string =>
  `<path class="line" d="M${x1} ${y1}L${x2} ${y2}" marker-end="url(#head)"/>`;
