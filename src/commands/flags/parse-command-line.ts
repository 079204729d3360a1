import { parseArgs } from 'node:util';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import type { BindAddress } from '../../server/listen.ts';
import {
  type CommandName,
  type ControllerFlagValue,
  commandDescriptions,
  controllerFlagValues,
  type FlagDefinition,
  type FlagName,
  flagDefinitions,
} from './flag-definitions.ts';
import {
  type CommonSettings,
  type FlagValues,
  isFlagOn,
  type ProcessEnvironment,
  readEnvironmentVariable,
  readFlag,
  readPodNamespace,
  toCommonSettings,
  UsageError,
} from './flag-values.ts';
import {
  type CheckSettings,
  type HostsSettings,
  type PlanSettings,
  type ReservationsSettings,
  toCheckSettings,
  toHostsSettings,
  toPlanSettings,
  toReservationsSettings,
} from './read-only-settings.ts';

/** Settings of `init`. */
export interface InitSettings extends InstanceSettings {
  /** Whether missing openMCP kinds are installed, too. */
  readonly withOpenmcpCrds: boolean;
}

/** The identity of the provider instance. */
export interface InstanceSettings extends CommonSettings {
  readonly environment: string;
  readonly providerName: string;
}

/** Settings of `run`. */
export interface RunSettings extends InstanceSettings {
  /** Absent: no metrics. */
  readonly metrics?: {
    readonly address: BindAddress;
    readonly secure: boolean;
    /** Absent: a self-signed certificate is created at startup. */
    readonly certificate?: { readonly folder: string; readonly certFile: string; readonly keyFile: string };
  };
  /** Absent: no probes. */
  readonly health?: BindAddress;
  readonly controllers: readonly ControllerFlagValue[];
  readonly podNamespace: string;
  /** Absent: the host name is used. */
  readonly podName?: string;
  /** Namespace for ServiceAccounts in the clusters. */
  readonly accessNamespace: string;
}

/** The process of a command. The signal aborts on SIGTERM and SIGINT. */
export interface ProcessContext {
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Settings and process context of `run`. */
export interface RunOptions extends RunSettings, ProcessContext {
  /**
   * The clock of the controllers; default: the system's. Leases are shared with other processes and always use real
   * time.
   */
  readonly clock?: Clock;
  /** The clock of the watches; default: the system's. */
  readonly watchClock?: Clock;
  /** Duration of a Lease without renewal; default: 15 seconds. All processes of one provider have to agree. */
  readonly leaseSeconds?: number;
}
/** Settings and process context of `init`. */
export interface InitOptions extends InitSettings, ProcessContext {}

/** The parsed command line. */
export type CommandLine =
  | { readonly command: 'help'; readonly topic?: CommandName }
  | { readonly command: 'version' }
  | { readonly command: 'init'; readonly settings: InitSettings }
  | { readonly command: 'run'; readonly settings: RunSettings }
  | { readonly command: 'hosts'; readonly settings: HostsSettings }
  | { readonly command: 'plan'; readonly settings: PlanSettings }
  | { readonly command: 'check'; readonly settings: CheckSettings }
  | { readonly command: 'reservations'; readonly settings: ReservationsSettings };

/** Parses the arguments after the program's name. Throws a {@link UsageError}. */
export function parseCommandLine(argv: readonly string[], environment: ProcessEnvironment): CommandLine {
  const { words, values, asked } = tokenizeArguments(argv);
  const [command, ...more] = words;
  if (asked === 'version' || command === 'version') return { command: 'version' };
  if (command === 'help') return toHelpCommandLine(more[0]);
  if (asked === 'help') return toHelpCommandLine(command);
  if (command === undefined)
    throw new UsageError(`Say what to do: ${Object.keys(commandDescriptions).join(' or ')}. See --help.`);
  if (!isCommandName(command))
    throw new UsageError(
      `There is no command ${command}: use ${Object.keys(commandDescriptions).join(', ')}. See --help.`,
    );
  if (more[0] !== undefined) {
    throw new UsageError(`${command} takes no argument ${more[0]}; flags begin with --. See ${command} --help.`);
  }
  assertFlagsFitCommand(command, values);
  return readSettings(command, values, environment);
}

function readSettings(command: CommandName, values: FlagValues, environment: ProcessEnvironment): CommandLine {
  switch (command) {
    case 'init':
      return { command, settings: toInitSettings(values) };
    case 'run':
      return { command, settings: toRunSettings(values, environment) };
    case 'hosts':
      return { command, settings: toHostsSettings(values, environment) };
    case 'plan':
      return { command, settings: toPlanSettings(values, environment) };
    case 'check':
      return { command, settings: toCheckSettings(values, environment) };
    case 'reservations':
      return { command, settings: toReservationsSettings(values, environment) };
  }
}

const isCommandName = (word: string): word is CommandName => Object.hasOwn(commandDescriptions, word);
const isFlagName = (word: string): word is FlagName => Object.hasOwn(flagDefinitions, word);

const toHelpCommandLine = (topic: string | undefined): CommandLine =>
  topic !== undefined && isCommandName(topic) ? { command: 'help', topic } : { command: 'help' };

/** Splits positional arguments from flags. The last flag of a name wins, as in the other providers. */
function tokenizeArguments(argv: readonly string[]) {
  const options = Object.fromEntries(
    Object.entries<FlagDefinition>(flagDefinitions).map(([name, { short, value }]) => [
      name,
      { type: value ? 'string' : 'boolean', ...(short && { short }) } as const,
    ]),
  );
  const { tokens } = parseArgs({
    args: [...argv],
    options: { ...options, help: { type: 'boolean', short: 'h' }, version: { type: 'boolean' } },
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const words: string[] = [];
  const values = new Map<FlagName, string>();
  let asked: 'help' | 'version' | undefined;
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value);
    if (token.kind !== 'option') continue;
    if (token.name === 'help' || token.name === 'version') asked ??= token.name;
    else values.set(...parseFlagValue(token.name, token.rawName, token.value));
  }
  return { words, values, asked };
}

function parseFlagValue(name: string, rawName: string, given: string | undefined): [FlagName, string] {
  if (!isFlagName(name)) throw new UsageError(`There is no flag ${rawName}. See --help.`);
  const flag: FlagDefinition = flagDefinitions[name];
  if (!flag.value) return [name, parseBoolean(rawName, given)];
  // `-v=debug`: the parser takes everything after a short flag as its value, including `=`.
  const value = rawName.startsWith('--') ? given : given?.replace(/^=/, '');
  if (value === undefined || (value === '' && flag.required)) {
    throw new UsageError(`${rawName} needs a value: ${rawName} ${flag.value}.`);
  }
  if (!flag.placeholder) return [name, value];
  const word = value.toLowerCase();
  if (!flag.placeholder.includes(word))
    throw new UsageError(`${rawName} takes ${flag.placeholder.join(', ')}, not ${value}.`);
  return [name, word];
}

/** The spellings that Go's flag packages accept, because the peers are started with them. */
function parseBoolean(rawName: string, given = 'true'): string {
  const word = given.toLowerCase();
  if (['1', 't', 'true'].includes(word)) return 'true';
  if (['0', 'f', 'false'].includes(word)) return 'false';
  throw new UsageError(`${rawName} takes true or false, not ${given}.`);
}

function assertFlagsFitCommand(command: CommandName, values: FlagValues): void {
  for (const [name] of values) {
    const flag: FlagDefinition = flagDefinitions[name];
    if (flag.commands.includes(command)) continue;
    throw new UsageError(`${command} has no flag --${name}; it belongs to ${flag.commands.join(' and ')}.`);
  }
  for (const [name, flag] of Object.entries<FlagDefinition>(flagDefinitions)) {
    if (flag.required?.includes(command) && isFlagName(name) && !values.get(name)) {
      throw new UsageError(`--${name} is missing: ${lowerCaseFirst(flag.description.split('. ')[0] ?? '')}.`);
    }
  }
}

const lowerCaseFirst = (text: string) => text.slice(0, 1).toLowerCase() + text.slice(1).replace(/\.$/, '');

const toInitSettings = (values: FlagValues): InitSettings => ({
  ...toInstanceSettings(values),
  withOpenmcpCrds: isFlagOn(values, 'with-openmcp-crds'),
});

function toInstanceSettings(values: FlagValues): InstanceSettings {
  const environment = assertName('environment', readFlag(values, 'environment'));
  const providerName = assertName('provider-name', readFlag(values, 'provider-name'));
  if (environment.length + providerName.length > maxNameLength - 3) {
    throw new UsageError(
      `--environment and --provider-name are too long: ${environment}.${providerName}.NAME of a ClusterProfile must fit into ${maxNameLength} characters, because it is used as a label value.`,
    );
  }
  return { environment, providerName, ...toCommonSettings(values, 'operator') };
}

/** Maximum length of a label value. */
const maxNameLength = 63;

/** Both names become part of a ClusterProfile's name and of label values, so both rules apply. */
function assertName(name: FlagName, value: string): string {
  if (
    value.length <= maxNameLength &&
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(value)
  ) {
    return value;
  }
  throw new UsageError(
    `--${name} must consist of lower-case letters, digits, - and ., begin and end with a letter or digit, and have at most ${maxNameLength} characters; ${JSON.stringify(value)} does not.`,
  );
}

function toRunSettings(values: FlagValues, environment: ProcessEnvironment): RunSettings {
  const settings = toInstanceSettings(values);
  const metrics = parseBindAddress('metrics-bind-address', readFlag(values, 'metrics-bind-address'));
  const folder = readFlag(values, 'metrics-cert-path');
  const health = parseBindAddress('health-probe-bind-address', readFlag(values, 'health-probe-bind-address'));
  const podName = readEnvironmentVariable(environment, 'POD_NAME');
  return {
    ...settings,
    ...(metrics && {
      metrics: {
        address: metrics,
        secure: isFlagOn(values, 'metrics-secure'),
        ...(folder && {
          certificate: {
            folder,
            certFile: readFlag(values, 'metrics-cert-name'),
            keyFile: readFlag(values, 'metrics-cert-key'),
          },
        }),
      },
    }),
    ...(health && { health }),
    controllers: parseControllers(readFlag(values, 'controllers')),
    podNamespace: readPodNamespace(settings, environment),
    ...(podName && { podName }),
    accessNamespace:
      readEnvironmentVariable(environment, 'ACCESS_REQUEST_SERVICE_ACCOUNT_NAMESPACE') || 'accessrequests',
  };
}

function parseControllers(list: string): readonly ControllerFlagValue[] {
  const names = list.split(',').map((name) => name.trim().toLowerCase());
  const unknown = names.find((name) => !(controllerFlagValues as readonly string[]).includes(name));
  if (unknown === undefined) return controllerFlagValues.filter((name) => names.includes(name));
  throw new UsageError(
    `--controllers knows ${controllerFlagValues.join(', ')}, not ${unknown === '' ? 'an empty name' : unknown}.`,
  );
}

/** `:8080`, `127.0.0.1:8080`, `[::1]:8080`; `0` or an empty value disables it. */
function parseBindAddress(name: FlagName, value: string): BindAddress | undefined {
  if (value === '' || value === '0') return undefined;
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:]*)):([0-9]{1,5})$/.exec(value) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > 65535) {
    throw new UsageError(`--${name} must look like :8080 or 127.0.0.1:8080, or be 0; ${value} does not.`);
  }
  return { host: bracketed ?? plain ?? '', port };
}
