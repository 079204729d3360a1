import { conditionReasons, conditionTypes } from '../../src/api/conditions.ts';
import { userAnnotations } from '../../src/api/user-annotations.ts';
import { type EnvironmentVariable, environmentVariables } from '../../src/commands/flags/environment-variables.ts';
import { exitCodeRows } from '../../src/commands/flags/exit-codes.ts';
import { type CommandName, commandNames, commandOptions, describeDefault } from '../../src/commands/flags/options.ts';
import { type ErrorCodeInfo, errorCodes } from '../../src/lib/errors.ts';
import { platforms } from '../../src/platforms/index.ts';
import { createMetrics } from '../../src/server/metrics.ts';
import { joinSteps } from '../../src/talos/join-steps.ts';
import { fieldSections, outputSections } from './field-tables.ts';
import { formatTable } from './markdown-table.ts';

/** Every page of `docs/reference`, by its path below the root. */
export function referencePages(): [path: string, content: string][] {
  return Object.entries(pages).map(([name, { title, about, render }]) => [
    `docs/reference/${name}.md`,
    `${[`# ${title}`, '<!-- Made by npm run generate. -->', about, render()].join('\n\n')}\n`,
  ]);
}

interface ReferencePage {
  readonly title: string;
  readonly about: string;
  readonly render: () => string;
}

const platformLinks = platforms
  .map(({ name }) => [name, name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)])
  .map(([name, folder]) => `[\`${name}\`](../../src/platforms/${folder}/README.md)`)
  .join(', ');

const pages: Readonly<Record<string, ReferencePage>> = {
  flags: {
    title: 'Flags and environment variables',
    about: 'The program is `cluster-provider-talos COMMAND FLAGS`; with `--help` each command lists its own.',
    render: () => ['## Flags', flagTable(), '## Environment variables', variableTable()].join('\n\n'),
  },
  'exit-codes': {
    title: 'Exit codes',
    about: 'A row that names a command goes before one for any command.',
    render: () =>
      formatTable(
        ['Code', 'Command', 'Meaning'],
        exitCodeRows.map(({ code, commands, meaning }) => [
          String(code),
          commands ? commands.map((name) => `\`${name}\``).join(', ') : 'any',
          meaning,
        ]),
      ),
  },
  output: {
    title: 'Output of commands',
    about: [
      'What `--output json` and `--output yaml` print: one object, whose fields stay as they are within a major version; new',
      'ones may be added. Texts are on one line. `[]` is an element of a list. `talosconfig` and `kubeconfig` print their file',
      'as YAML or JSON.',
    ].join('\n'),
    render: outputSections,
  },
  annotations: {
    title: 'Annotations',
    about: 'Annotations that users set. Other annotations belong to the provider; do not change them.',
    render: () =>
      formatTable(
        ['Annotation', 'On', 'Value', 'Effect', 'Data', 'Removed by the provider'],
        userAnnotations.map(({ key, on, value, effect, data, removed }) => [
          `\`${key}\``,
          on,
          value,
          effect,
          data,
          removed ?? 'never',
        ]),
      ),
  },
  conditions: {
    title: 'Conditions',
    about:
      'All conditions have positive polarity: `True` is good. `Ready` is on every kind that has a status. Its [reason](reasons.md) says why one is not `True`.',
    render: () =>
      formatTable(
        ['Condition', 'True means'],
        Object.entries(conditionTypes).map(([name, about]) => [`\`${name}\``, about]),
      ),
  },
  reasons: {
    title: 'Reasons of conditions',
    about:
      'All platforms share these reasons. Steps have further ones, which the page of each platform lists. What to do about each: [troubleshooting](../troubleshoot.md).',
    render: () =>
      formatTable(
        ['Reason', 'Meaning'],
        Object.entries(conditionReasons).map(([name, about]) => [`\`${name}\``, about]),
      ),
  },
  'error-codes': {
    title: 'Error codes',
    about: 'Error codes appear in logs and Events, and as reasons of a Machine with a failed step.',
    render: () =>
      formatTable(
        ['Code', 'Retry', 'Meaning'],
        Object.entries(allErrorCodes).map(([name, { retry, message }]) => [`\`${name}\``, retryTexts[retry], message]),
      ),
  },
  steps: {
    title: 'Steps of Machines',
    about: `In the order in which they run. The README of each platform describes its steps: ${platformLinks}.`,
    render: () => formatTable(['Platform', 'List', 'Steps'], stepRows()),
  },
  metrics: {
    title: 'Metrics',
    about:
      'Metrics that controller-runtime and client-go also have use their names, so that existing dashboards work. Metrics of the process itself (`process_*`, `nodejs_*`) are served too, and are not listed.',
    render: () => formatTable(['Metric', 'Kind', 'Labels', 'Meaning'], metricRows()),
  },
  fields: {
    title: 'Fields of the kinds',
    about:
      '`kubectl explain` prints the same text. `[]` is an element of a list, `*` a key of a map. A required field must be set if its parent object is.',
    render: fieldSections,
  },
};

/** The shared codes, then those of each platform. */
export const allErrorCodes: Readonly<Record<string, ErrorCodeInfo>> = Object.assign(
  {},
  errorCodes,
  ...platforms.map((platform) => platform.errorCodes),
);

interface CommandOption {
  readonly command: CommandName;
  readonly option: (typeof commandOptions)[CommandName][number];
}

/** A flag has one row for each of its meanings, with the commands that share it. */
const flagTable = (): string => {
  const all = commandNames.flatMap((command) => commandOptions[command].map((option) => ({ command, option })));
  const flags = [...new Set(all.map(({ option }) => option.long))];
  const rows = flags.flatMap((long) => {
    const owners = all.filter(({ option }) => option.long === long);
    const meanings = [...new Set(owners.map(({ option }) => option.description))];
    return meanings.map((meaning) => flagRow(owners.filter(({ option }) => option.description === meaning)));
  });
  return formatTable(['Flag', 'Commands', 'Default', 'Meaning'], rows);
};

function flagRow(owners: readonly CommandOption[]): string[] {
  const required = owners.filter(({ option }) => option.mandatory).map(({ command }) => command);
  const commands = owners.map(({ command }) => command);
  const option = owners[0]?.option;
  return [
    [option?.short, option?.long].flatMap((flag) => (flag ? `\`${flag}\`` : [])).join(', '),
    commandsOf(commands),
    required.length > 0
      ? `required${required.length < commands.length ? ` for ${commandsOf(required)}` : ''}`
      : [option]
          .flatMap((one) => (one && describeDefault(one)) || [])
          .map((text) => `\`${text}\``)
          .join(''),
    option?.description ?? '',
  ];
}

const variableTable = (): string =>
  formatTable(
    ['Variable', 'Commands', 'Default', 'Meaning'],
    Object.entries<EnvironmentVariable>(environmentVariables).map(([name, one]) => [
      `\`${name}\``,
      commandsOf(one.commands),
      one.fallback,
      one.description,
    ]),
  );

const stepRows = (): string[][] => [
  ...platforms.flatMap(({ name, provision, postJoin, repair, hardware, release }) => [
    [name, 'provision', stepNames(provision)],
    ...(postJoin.length > 0 ? [[name, 'post-join, after join', stepNames(postJoin)]] : []),
    ...(repair ? [[name, 'repair, after a difference was observed', stepNames(repair.steps)]] : []),
    ...(hardware ? [[name, 'update, of the hardware', stepNames([...hardware.admission, ...hardware.steps])]] : []),
    [name, 'release', stepNames(release)],
  ]),
  ['any', 'join, after provision', stepNames(joinSteps)],
];

/** Metrics of Node itself are left out. */
function metricRows(): string[][] {
  const metrics = createMetrics().registry.getMetricsAsArray() as unknown as readonly Metric[];
  return metrics
    .filter(({ name }) => !/^(process|nodejs)_/.test(name))
    .map(({ name, type, labelNames, help }) => [`\`${name}\``, type, labelNames.join(', '), help]);
}

/** As prom-client keeps it. */
interface Metric {
  readonly name: string;
  readonly type: string;
  readonly labelNames: readonly string[];
  readonly help: string;
}

const retryTexts = {
  backoff: 'automatically, with growing delays',
  'after-change': 'after a change, or in ten minutes',
  bug: 'automatically',
};
const commandsOf = (commands: readonly CommandName[]) => commands.map((name) => `\`${name}\``).join(', ');
const stepNames = (steps: readonly { readonly name: string }[]) => steps.map(({ name }) => `\`${name}\``).join(' → ');
