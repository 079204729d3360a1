import { readFileSync } from 'node:fs';
import { join } from 'node:path';

interface DashboardPanelJson {
  readonly id: number;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat?: string }[];
}

interface DashboardJson {
  readonly panels: readonly DashboardPanelJson[];
  readonly templating: { readonly list: readonly { readonly name: string }[] };
}

const root = join(import.meta.dirname, '../..');

/** The dashboard of the chart. */
export const readDashboard = (): DashboardJson =>
  JSON.parse(
    readFileSync(join(root, 'charts/cluster-provider-talos/monitoring/dashboard.json'), 'utf8'),
  ) as DashboardJson;

export interface DashboardQuery {
  readonly title: string;
  readonly expr: string;
  readonly legendFormat?: string;
}

/** Its queries as Grafana sends them for one provider. */
export const dashboardQueries = ({ job, namespace }: { job: string; namespace: string }): readonly DashboardQuery[] =>
  readDashboard().panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr, legendFormat }) => ({
      title,
      expr: expr.replaceAll('$job', job).replaceAll('$namespace', namespace).replaceAll('$__rate_interval', '2m'),
      ...(legendFormat === undefined ? {} : { legendFormat }),
    })),
  );
