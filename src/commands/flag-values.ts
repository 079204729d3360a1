import { type Flag, type FlagName, flags, type VariableName } from './flag-table.ts';

/** How to log. */
export interface LogSettings {
  readonly verbosity: 'error' | 'info' | 'debug';
  readonly format: 'json' | 'text';
  readonly timestamps: boolean;
  readonly stacks: boolean;
}

/** The command line cannot be followed. The message is one sentence for people; the exit code is 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

export type Environment = Readonly<Record<string, string | undefined>>;
export type Values = ReadonlyMap<FlagName, string>;

/** What was given, or the fallback; empty: neither. */
export const text = (values: Values, name: FlagName): string => {
  const flag: Flag = flags[name];
  return values.get(name) ?? flag.fallback ?? '';
};
export const isOn = (values: Values, name: FlagName): boolean => text(values, name) === 'true';

export const variable = (environment: Environment, name: VariableName): string => environment[name] ?? '';

/** People who start a command themselves read what it logs. */
function toLogSettings(values: Values, startedBy: 'operator' | 'people'): LogSettings {
  const dev = isOn(values, 'dev');
  const cli = isOn(values, 'cli') || (startedBy === 'people' && !values.has('cli') && !dev);
  const verbosity = values.get('verbosity') ?? (dev ? 'debug' : flags.verbosity.fallback);
  const format = values.get('format') ?? (dev || cli ? 'text' : flags.format.fallback);
  return {
    verbosity: verbosity as LogSettings['verbosity'],
    format: format as LogSettings['format'],
    timestamps: !cli && !isOn(values, 'disable-timestamp'),
    stacks: !cli && !isOn(values, 'disable-stacktrace'),
  };
}

/** What every command is told. */
export interface CommonSettings {
  /** Path of a file or folder; absent: the ServiceAccount of the Pod. */
  readonly kubeconfig?: string;
  readonly logging: LogSettings;
  readonly dryRun: boolean;
}

export function toCommonSettings(values: Values, startedBy: 'operator' | 'people'): CommonSettings {
  const kubeconfig = text(values, 'kubeconfig');
  return {
    ...(kubeconfig && { kubeconfig }),
    logging: toLogSettings(values, startedBy),
    dryRun: isOn(values, 'dry-run'),
  };
}

/** Inside a Pod it must be told: guessing would look for secrets in the wrong place. Outside, the usual name serves. */
export function toPodNamespace(settings: Pick<CommonSettings, 'kubeconfig'>, environment: Environment): string {
  const given = variable(environment, 'POD_NAMESPACE');
  if (given) return given;
  const isOutside = settings.kubeconfig !== undefined || !environment['KUBERNETES_SERVICE_HOST'];
  if (isOutside) return 'openmcp-system';
  throw new UsageError(
    'POD_NAMESPACE is not set: set it to the namespace of this Pod, or pass --kubeconfig when running outside of a cluster.',
  );
}
