import { execFileSync, spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { findPeer, missingPeers } from '../peers/find-peer.ts';
import { dashboardQueries, readDashboard } from '../support/dashboard-queries.ts';
import { describeUnlessMissing } from '../support/describe-unless-missing.ts';
import { registeredMetricNames, seriesNamesOf } from './metric-names.ts';
import { readProjectFile } from './source-tree.ts';

const chart = 'charts/cluster-provider-talos';
const { panels, templating } = readDashboard();
const queries = dashboardQueries({ job: 'j', namespace: 'n' });

describe('the dashboard', () => {
  test('has panels with their own ids, titles and places', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) => {
      expect(x + w).toBeLessThanOrEqual(24);
      return Array.from({ length: w * h }, (_, i) => `${x + (i % w)}/${y + Math.floor(i / w)}`);
    });
    expect(new Set(cells).size).toBe(cells.length);
  });

  test('asks only for metrics that exist, of the chosen provider', () => {
    const known = [...registeredMetricNames()];
    for (const { title, expr } of queries) {
      const names = seriesNamesOf(expr);
      expect(names.length, title).toBeGreaterThan(0);
      for (const name of names) expect(known, title).toContain(name);
      expect(expr.split('job="j",namespace="n"').length - 1, title).toBe(names.length);
    }
  });

  test('uses only variables that it has', () => {
    const known = [...templating.list.map(({ name }) => name), '__rate_interval'];
    const used = readProjectFile(`${chart}/monitoring/dashboard.json`).matchAll(/\$(\w+)/g);
    for (const [, name] of used) expect(known).toContain(name);
  });

  test('legends use labels that the query keeps', () => {
    for (const { title, expr, legendFormat = '' } of queries) {
      const kept = [...expr.matchAll(/ by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(', '));
      for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
        if (kept.length > 0) expect(kept, title).toContain(label);
    }
  });
});

describeUnlessMissing('the queries of the dashboard', missingPeers('promtool'), () => {
  test.each(queries)('$title: $expr', ({ expr }) => {
    const words = ['--experimental', 'promql', 'format', expr];
    const { status, stderr } = spawnSync(findPeer('promtool') ?? '', words, { encoding: 'utf8' });
    expect(status, stderr).toBe(0);
  });
});

describeUnlessMissing('the dashboard of the rendered chart', missingPeers('helm'), () => {
  test('is a ConfigMap that the sidecar of Grafana finds, with the same JSON', () => {
    const words = ['template', 'talos', chart, '--set-json=metrics.dashboard.enabled=true'];
    const text = execFileSync(findPeer('helm') ?? '', [...words, '--show-only=templates/dashboard.yaml'], {
      encoding: 'utf8',
    });
    const { kind, metadata, data } = parse(text) as {
      kind: string;
      metadata: { labels: Record<string, string> };
      data: Record<string, string>;
    };
    expect([kind, metadata.labels['grafana_dashboard']]).toEqual(['ConfigMap', '1']);
    expect(Object.values(data).map((json) => JSON.parse(json))).toEqual([readDashboard()]);
  });
});
