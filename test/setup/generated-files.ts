import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { conditionReasons, conditionTypes } from '../../src/api/conditions.ts';
import { buildCrds } from '../../src/api/crd.ts';
import {
  type CommandName,
  type EnvironmentVariable,
  environmentVariables,
  type FlagDefinition,
  flagDefinitions,
} from '../../src/commands/flags/flag-definitions.ts';
import { errorCodes } from '../../src/lib/errors.ts';
import { platforms } from '../../src/platforms/index.ts';
import { createMetrics } from '../../src/server/metrics.ts';
import { joinSteps } from '../../src/talos/join-steps.ts';
import { permissionTables } from './permission-tables.ts';

export const projectRoot = fileURLToPath(new URL('../..', import.meta.url));

/** Every generated file except for the Talos client, by its path below the root, with its current content. */
export function generatedFiles(): ReadonlyMap<string, string> {
  const text = (path: string): string => readFileSync(join(projectRoot, path), 'utf8');
  return new Map([
    ...crdFiles(),
    // Helm reads no files outside of a chart.
    ['charts/cluster-provider-talos/roles.yaml', `# Made by npm run generate.\n${text('config/rbac/role.yaml')}`],
    ['README.md', withTables(text('README.md'))],
    ['docs/security.md', withTables(text('docs/security.md'), permissionTables(formatTable))],
  ]);
}

function crdFiles(): [path: string, content: string][] {
  return buildCrds().map((crd) => {
    const [plural, ...group] = crd.metadata.name.split('.');
    const yaml = stringify(crd, { lineWidth: 0 });
    return [`config/crd/${group.join('.')}_${plural}.yaml`, `# Made by npm run generate.\n${yaml}`];
  });
}

/** The reference tables of the README, by the name in their markers. */
export const generatedTables: Readonly<Record<string, () => string>> = {
  flags: () =>
    formatTable(
      ['Flag', 'Commands', 'Default', 'Meaning'],
      Object.entries<FlagDefinition>(flagDefinitions).map(([name, flag]) => [
        [flag.short && `\`-${flag.short}\``, `\`--${name}\``].filter(Boolean).join(', '),
        commandsOf(flag.commands),
        defaultOf(flag),
        flag.about,
      ]),
    ),
  variables: () =>
    formatTable(
      ['Variable', 'Commands', 'Default', 'Meaning'],
      Object.entries<EnvironmentVariable>(environmentVariables).map(([name, one]) => [
        `\`${name}\``,
        commandsOf(one.commands),
        one.fallback,
        one.about,
      ]),
    ),
  conditions: () =>
    formatTable(
      ['Condition', 'True means'],
      Object.entries(conditionTypes).map(([name, about]) => [`\`${name}\``, about]),
    ),
  reasons: () =>
    formatTable(
      ['Reason', 'Meaning'],
      Object.entries(conditionReasons).map(([name, about]) => [`\`${name}\``, about]),
    ),
  errors: () =>
    formatTable(
      ['Code', 'Tried again', 'Meaning'],
      Object.entries(errorCodes).map(([name, { retry, message }]) => [`\`${name}\``, retryTexts[retry], message]),
    ),
  metrics: () => formatTable(['Metric', 'Kind', 'Labels', 'Meaning'], metricRows()),
  steps: () =>
    formatTable(
      ['Platform', 'List', 'Steps'],
      [
        ...platforms.flatMap(({ name, provision, settle, mending, release }) => [
          [name, 'provision', stepNames(provision)],
          ...(settle.length > 0 ? [[name, 'settle, after join', stepNames(settle)]] : []),
          ...(mending ? [[name, 'mend, when something is amiss', stepNames(mending.mend)]] : []),
          [name, 'release', stepNames(release)],
        ]),
        ['any', 'join, after provision', stepNames(joinSteps)],
      ],
    ),
};

/** Metrics of Node itself are left out. */
function metricRows(): string[][] {
  const metrics = createMetrics().registry.getMetricsAsArray() as unknown as readonly Metric[];
  return metrics
    .filter(({ name }) => !/^(process|nodejs)_/.test(name))
    .map(({ name, type, labelNames, help }) => [`\`${name}\``, type, labelNames.join(', '), help]);
}

/** The internal representation of prom-client. */
interface Metric {
  readonly name: string;
  readonly type: string;
  readonly labelNames: readonly string[];
  readonly help: string;
}

const retryTexts = {
  backoff: 'by itself, later each time',
  'after-change': 'after a change, or in ten minutes',
  bug: 'by itself',
};
const defaultOf = ({ commands, required, fallback }: FlagDefinition): string => {
  if (required) return required.length < commands.length ? `required for ${commandsOf(required)}` : 'required';
  return fallback === undefined ? '' : `\`${fallback}\``;
};
const commandsOf = (commands: readonly CommandName[]) => commands.map((name) => `\`${name}\``).join(', ');
const stepNames = (steps: readonly { readonly name: string }[]) => steps.map(({ name }) => `\`${name}\``).join(' → ');

function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** The text with the content between each pair of markers replaced. Throws when a marker names an unknown table. */
export function withTables(text: string, known = generatedTables): string {
  return text.replace(
    /(<!-- generated:([a-z]+) -->\n)[\s\S]*?(<!-- \/generated -->)/g,
    (_, begin: string, name: string, end: string) => {
      const render = known[name];
      if (!render) throw new Error(`There is no generated table ${name}`);
      return `${begin}\n${render()}\n\n${end}`;
    },
  );
}
