import type { Command } from 'commander';
import type { OutputFormat, StructuredFormat } from '../output/structured-output.ts';
import { type CommonSettings, readPodNamespace, toCommonSettings } from './common-settings.ts';
import type { ProcessEnvironment } from './environment-variables.ts';
import type { ObjectArgument } from './option-values.ts';
import { UsageError } from './usage-error.ts';

/** Settings of `status`. */
export interface StatusSettings extends CommonSettings {
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly output: 'table' | StructuredFormat;
  readonly watch: boolean;
  /** The exit code says whether every Cluster is ready. */
  readonly exitCode: boolean;
}

/** Settings of `why`. */
export interface WhySettings extends CommonSettings {
  readonly object: ObjectArgument;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly output: OutputFormat;
}

/** Settings of `support-bundle`. */
export interface SupportBundleSettings extends CommonSettings {
  /** The provider's own namespace, with its Pods. */
  readonly podNamespace: string;
  /** Absent: a name with the time. */
  readonly outputFile?: string;
  readonly output: OutputFormat;
}

export function toStatusSettings(command: Command): StatusSettings {
  const { namespace, output, watch, exitCode } =
    command.opts<Pick<StatusSettings, 'namespace' | 'output' | 'watch' | 'exitCode'>>();
  if (watch && output !== 'table') throw new UsageError('--watch and --output exclude each other.');
  if (watch && exitCode) throw new UsageError('--watch and --exit-code exclude each other.');
  return { ...toCommonSettings(command, 'people'), output, watch, exitCode, ...(namespace && { namespace }) };
}

export function toWhySettings(command: Command): WhySettings {
  const [{ namespace: inName, ...object }] = command.processedArgs as [ObjectArgument];
  const { namespace = inName, output } = command.opts<Pick<WhySettings, 'namespace' | 'output'>>();
  if (inName !== undefined && namespace !== inName)
    throw new UsageError(`The object is in namespace ${inName}, and --namespace is ${namespace}.`);
  return { ...toCommonSettings(command, 'people'), object, output, ...(namespace && { namespace }) };
}

export function toSupportBundleSettings(command: Command, environment: ProcessEnvironment): SupportBundleSettings {
  const { output, outputFile } = command.opts<Pick<SupportBundleSettings, 'output' | 'outputFile'>>();
  const settings = toCommonSettings(command, 'people');
  const podNamespace = readPodNamespace(settings, environment);
  return { ...settings, podNamespace, output, ...(outputFile !== undefined && { outputFile }) };
}
