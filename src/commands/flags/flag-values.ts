import {
  type EnvironmentVariableName,
  type FlagDefinition,
  type FlagName,
  flagDefinitions,
} from './flag-definitions.ts';

export interface LogSettings {
  readonly verbosity: 'error' | 'info' | 'debug';
  readonly format: 'json' | 'text';
  readonly timestamps: boolean;
  readonly stacks: boolean;
}

/** An invalid command line. The message is one sentence for users; the exit code is 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

export type ProcessEnvironment = Readonly<Record<string, string | undefined>>;
export type FlagValues = ReadonlyMap<FlagName, string>;

/** The given value, or else the fallback, or else an empty string. */
export const readFlag = (values: FlagValues, name: FlagName): string => {
  const flag: FlagDefinition = flagDefinitions[name];
  return values.get(name) ?? flag.fallback ?? '';
};
export const isFlagOn = (values: FlagValues, name: FlagName): boolean => readFlag(values, name) === 'true';

export const readEnvironmentVariable = (environment: ProcessEnvironment, name: EnvironmentVariableName): string =>
  environment[name] ?? '';

/** Users who start a command themselves read its log, so its default format differs. */
function toLogSettings(values: FlagValues, startedBy: 'operator' | 'people'): LogSettings {
  const dev = isFlagOn(values, 'dev');
  const cli = isFlagOn(values, 'cli') || (startedBy === 'people' && !values.has('cli') && !dev);
  const verbosity = values.get('verbosity') ?? (dev ? 'debug' : flagDefinitions.verbosity.fallback);
  const format = values.get('format') ?? (dev || cli ? 'text' : flagDefinitions.format.fallback);
  return {
    verbosity: verbosity as LogSettings['verbosity'],
    format: format as LogSettings['format'],
    timestamps: !cli && !isFlagOn(values, 'disable-timestamp'),
    stacks: !cli && !isFlagOn(values, 'disable-stacktrace'),
  };
}

/** Settings of every command. */
export interface CommonSettings {
  /** Path of a file or folder. Absent: the ServiceAccount of the Pod. */
  readonly kubeconfig?: string;
  readonly logging: LogSettings;
  readonly dryRun: boolean;
}

export function toCommonSettings(values: FlagValues, startedBy: 'operator' | 'people'): CommonSettings {
  const kubeconfig = readFlag(values, 'kubeconfig');
  return {
    ...(kubeconfig && { kubeconfig }),
    logging: toLogSettings(values, startedBy),
    dryRun: isFlagOn(values, 'dry-run'),
  };
}

/**
 * Required inside a Pod: a guess would search for secrets in the wrong namespace. Outside, the usual name is the
 * default.
 */
export function readPodNamespace(
  settings: Pick<CommonSettings, 'kubeconfig'>,
  environment: ProcessEnvironment,
): string {
  const given = readEnvironmentVariable(environment, 'POD_NAMESPACE');
  if (given) return given;
  const isOutside = settings.kubeconfig !== undefined || !environment['KUBERNETES_SERVICE_HOST'];
  if (isOutside) return 'openmcp-system';
  throw new UsageError(
    'POD_NAMESPACE is not set: set it to the namespace of this Pod, or pass --kubeconfig when running outside of a cluster.',
  );
}
