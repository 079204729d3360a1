import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { findPeer, missingPeers } from '../peers/find-peer.ts';
import { describeUnlessMissing } from '../support/describe-unless-missing.ts';
import { type AlertCase, alertCases, type InputSeries } from './alert-cases.ts';
import { registeredMetricNames, seriesNamesOf } from './metric-names.ts';
import { readProjectFile } from './source-tree.ts';

const chart = 'charts/cluster-provider-talos';
const prefix = 'ClusterProviderTalos';

interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook_url: string };
}
interface RuleGroups {
  readonly groups: readonly { readonly name: string; readonly rules: readonly AlertRule[] }[];
}

const rulesOf = ({ groups }: RuleGroups): readonly AlertRule[] => groups.flatMap(({ rules }) => rules);
const written = parse(readProjectFile(`${chart}/monitoring/alerts.yaml`)) as RuleGroups;

describe('the alerts', () => {
  const all = rulesOf(written);
  const guide = readProjectFile('docs/troubleshoot.md');

  test('have names that begin alike, a severity, a summary and a description', () => {
    for (const { alert, labels, annotations } of all) {
      expect(alert).toMatch(new RegExp(`^${prefix}[A-Z]`));
      expect(['critical', 'warning', 'info'], alert).toContain(labels.severity);
      expect(annotations.summary, alert).toMatch(/\.$/);
      expect(annotations.description, alert).toMatch(/\.$/);
    }
    expect(new Set(all.map(({ alert }) => alert)).size).toBe(all.length);
  });

  test.each(all)('$alert links to its paragraph of the guide', ({ alert, annotations }) => {
    expect(annotations.runbook_url).toBe(`RUNBOOK#${alert.toLowerCase()}`);
    expect(guide.split('\n')).toContain(`### ${alert}`);
  });

  test('the guide describes no alert that does not exist', () => {
    const described = [...guide.matchAll(new RegExp(`^### (${prefix}\\w+)$`, 'gm'))].map(([, name]) => name);
    expect(described).toEqual(all.map(({ alert }) => alert));
  });

  test('use metrics that exist', () => {
    const known = registeredMetricNames();
    for (const { alert, expr } of all)
      for (const name of seriesNamesOf(expr)) expect([...known], alert).toContain(name);
  });

  test('each has a case in which it fires', () => {
    expect(Object.keys(alertCases).map((name) => `${prefix}${name}`)).toEqual(all.map(({ alert }) => alert));
  });
});

/** The labels that Prometheus gives to what it scrapes from the release `talos` in `openmcp-system`. */
const scraped = { job: 'talos-cluster-provider-talos-metrics', namespace: 'openmcp-system' };

describeUnlessMissing('the alerts of the rendered chart', missingPeers('helm', 'promtool'), () => {
  const folder = mkdtempSync(join(tmpdir(), 'alerts-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const render = (...values: string[]): RuleGroups => {
    const settings = ['metrics.prometheusRule.enabled=true', ...values].flatMap((value) => ['--set-json', value]);
    const words = ['template', 'talos', chart, '--namespace=openmcp-system', ...settings];
    const text = execFileSync(findPeer('helm') ?? '', [...words, '--show-only=templates/prometheus-rule.yaml'], {
      encoding: 'utf8',
    });
    return (parse(text) as { spec: RuleGroups }).spec;
  };
  const rendered = render();
  const rulesFile = join(folder, 'rules.yaml');
  writeFileSync(rulesFile, stringify(rendered));
  const promtool = (...words: string[]): string => {
    const { stdout, stderr, status } = spawnSync(findPeer('promtool') ?? '', words, { encoding: 'utf8' });
    expect(status, `${stdout}\n${stderr}`).toBe(0);
    return stdout;
  };

  test('are valid for promtool', () => {
    const { length } = rulesOf(written);
    expect(promtool('check', 'rules', '--lint=all', '--lint-fatal', rulesFile)).toContain(`${length} rules found`);
  });

  test('can be left out by name, and link to where the guide is served', () => {
    const left = rulesOf(
      render(
        `metrics.prometheusRule.disabledAlerts=["${prefix}BackupTooOld"]`,
        'metrics.prometheusRule.runbookUrl="https://docs.example.org/troubleshoot"',
      ),
    );
    expect(left).toHaveLength(rulesOf(written).length - 1);
    expect(left.map(({ alert }) => alert)).not.toContain(`${prefix}BackupTooOld`);
    expect(left[0]?.annotations.runbook_url).toBe('https://docs.example.org/troubleshoot#clusterprovidertalosabsent');
  });

  test.each(rulesOf(rendered))('$alert fires when it should, and only then', (rule) => {
    const { at, firing, quiet, ...expected } = alertCases[rule.alert.slice(prefix.length)] as AlertCase;
    const testsFile = join(folder, `${rule.alert}.yaml`);
    const unit = (series: readonly InputSeries[], alerts: readonly object[]) => ({
      interval: '1m',
      input_series: series.map(toPromtoolSeries),
      alert_rule_test: [{ eval_time: at, alertname: rule.alert, exp_alerts: alerts }],
    });
    const tests = [unit(firing, [expectedAlert(rule, expected)]), unit(quiet, [])];
    writeFileSync(testsFile, stringify({ rule_files: [rulesFile], evaluation_interval: '1m', tests }));
    promtool('test', 'rules', testsFile);
  });
});

function toPromtoolSeries([metric, labels, values]: InputSeries): { series: string; values: string } {
  const all = Object.entries({ ...scraped, ...labels }).map(([name, value]) => `${name}="${value}"`);
  return { series: `${metric}{${all.join(',')}}`, values };
}

/** The alert with its texts, in which labels and the value are filled in. */
function expectedAlert(rule: AlertRule, { labels, shows = '' }: Pick<AlertCase, 'labels' | 'shows'>): object {
  const all: Record<string, string> = { ...scraped, ...labels };
  const fill = (text: string): string =>
    text
      .replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, name: string) => all[name] ?? `no label ${name}`)
      .replaceAll(/\{\{ \$value[^}]*\}\}/g, shows);
  const { summary, description, runbook_url } = rule.annotations;
  return {
    exp_labels: { ...all, severity: rule.labels.severity },
    exp_annotations: { summary: fill(summary), description: fill(description), runbook_url },
  };
}
