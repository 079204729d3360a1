import { type DashboardPanel, dashboardRows } from './dashboard-panels.ts';

const selector = 'job="$job",namespace="$namespace"';
const datasource = { type: 'prometheus', uid: '$datasource' };
const columns = 24;
const heights = { stat: 4, timeseries: 8, table: 8 } as const;
const widths = { stat: 4, timeseries: 12, table: 12 } as const;

/**
 * The Grafana dashboard of the chart, as the JSON that Grafana imports. Panels fill rows of 24 columns from left to right.
 */
export function renderDashboard(): string {
  const panels: object[] = [];
  let y = 0;
  for (const row of dashboardRows) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title: row.title,
      collapsed: false,
      panels: [],
      gridPos: { h: 1, w: columns, x: 0, y },
    });
    y += 1;
    let x = 0;
    for (const panel of row.panels) {
      const [w, h] = [widths[panel.kind], heights[panel.kind]];
      if (x + w > columns) [x, y] = [0, y + h];
      panels.push({ id: panels.length + 1, gridPos: { h, w, x, y }, ...renderPanel(panel) });
      x += w;
    }
    y += heights[row.panels.at(-1)?.kind ?? 'timeseries'];
  }
  return `${JSON.stringify({ ...frame, panels }, undefined, 2)}\n`;
}

function renderPanel({ title, kind, about, queries, unit = 'short', alarmFrom }: DashboardPanel): object {
  const isTable = kind === 'table';
  const targets = Object.entries(queries).map(([legend, query], index) => ({
    refId: String.fromCharCode(65 + index),
    datasource,
    expr: query.replaceAll('SELECTOR', selector),
    ...(isTable ? { format: 'table', instant: true } : { legendFormat: legend }),
  }));
  const steps = [
    { color: alarmFrom === undefined ? 'blue' : 'green', value: null },
    ...(alarmFrom === undefined ? [] : [{ color: 'red', value: alarmFrom }]),
  ];
  return {
    type: kind,
    title,
    description: about,
    datasource,
    targets,
    fieldConfig: { defaults: { unit, min: 0, thresholds: { mode: 'absolute', steps } }, overrides: [] },
    ...optionsOf[kind],
  };
}

const optionsOf = {
  stat: { options: { colorMode: 'background', graphMode: 'none', reduceOptions: { calcs: ['lastNotNull'] } } },
  timeseries: {
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
  },
  table: { transformations: [{ id: 'organize', options: { excludeByName: { Time: true } } }] },
} as const;

const variable = (name: string, query: string) => ({
  name,
  type: 'query',
  datasource,
  query: { query, refId: name },
  refresh: 2,
  sort: 1,
});

const frame = {
  uid: 'cluster-provider-talos',
  title: 'Cluster provider for Talos Linux',
  tags: ['openmcp', 'talos'],
  schemaVersion: 39,
  editable: true,
  refresh: '1m',
  time: { from: 'now-6h', to: 'now' },
  templating: {
    list: [
      { name: 'datasource', type: 'datasource', query: 'prometheus' },
      variable('namespace', 'label_values(cluster_provider_talos_build_info, namespace)'),
      variable('job', 'label_values(cluster_provider_talos_build_info{namespace="$namespace"}, job)'),
    ],
  },
} as const;
