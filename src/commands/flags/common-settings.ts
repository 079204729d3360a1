import type { Command } from 'commander';
import { type ProcessEnvironment, readEnvironmentVariable } from './environment-variables.ts';
import { UsageError } from './usage-error.ts';

export interface LogSettings {
  readonly verbosity: 'error' | 'info' | 'debug';
  readonly format: 'json' | 'text';
  readonly timestamps: boolean;
  readonly stacks: boolean;
}

/** Settings of every command. */
export interface CommonSettings {
  /** Path of a file or folder. Absent: the ServiceAccount of the Pod. */
  readonly kubeconfig?: string;
  readonly logging: LogSettings;
  readonly dryRun: boolean;
}

/** Values of the flags that every command has. */
interface CommonFlags extends Pick<LogSettings, 'verbosity' | 'format'> {
  readonly kubeconfig?: string;
  readonly dev: boolean;
  readonly cli: boolean;
  readonly disableStacktrace: boolean;
  readonly disableTimestamp: boolean;
  readonly dryRun: boolean;
}

export function toCommonSettings(command: Command, startedBy: 'operator' | 'people'): CommonSettings {
  const { kubeconfig, dryRun } = command.opts<CommonFlags>();
  return { ...(kubeconfig && { kubeconfig }), logging: toLogSettings(command, startedBy), dryRun };
}

/** Users who start a command themselves read its log, so its default format differs. */
function toLogSettings(command: Command, startedBy: 'operator' | 'people'): LogSettings {
  const flags = command.opts<CommonFlags>();
  const isGiven = (flag: keyof CommonFlags) => command.getOptionValueSource(flag) === 'cli';
  const cli = flags.cli || (startedBy === 'people' && !isGiven('cli') && !flags.dev);
  return {
    verbosity: flags.dev && !isGiven('verbosity') ? 'debug' : flags.verbosity,
    format: (flags.dev || cli) && !isGiven('format') ? 'text' : flags.format,
    timestamps: !cli && !flags.disableTimestamp,
    stacks: !cli && !flags.disableStacktrace,
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
