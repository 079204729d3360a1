import type { Command } from 'commander';
import type { TalosRole } from '../../talos/secrets/talos-role.ts';
import type { OutputFormat, StructuredFormat } from '../output/structured-output.ts';
import { type CommonSettings, readPodNamespace, toCommonSettings } from './common-settings.ts';
import type { ProcessEnvironment } from './environment-variables.ts';
import type { ClusterFlagValue, KubeconfigRole } from './option-values.ts';
import { UsageError } from './usage-error.ts';

/** Settings of the commands that use the secrets of a cluster. */
export interface ClusterAccessSettings extends CommonSettings {
  /** The provider's own namespace. */
  readonly podNamespace: string;
  readonly cluster: ClusterFlagValue;
}

/** Settings of the commands that issue client certificates. */
export interface AccessSettings extends ClusterAccessSettings {
  readonly ttlSeconds: number;
  /** Path of the file to write. Absent: standard output. */
  readonly outputFile?: string;
  readonly output: StructuredFormat;
  /** Replaces the file if it exists. */
  readonly force: boolean;
}

export interface TalosconfigSettings extends AccessSettings {
  readonly role: TalosRole;
}

/** A role that this provider defines, or groups that only the cluster knows. */
export type KubeconfigRights =
  | { readonly role: KubeconfigRole; readonly groups?: never }
  | { readonly groups: readonly string[]; readonly role?: never };

export interface KubeconfigSettings extends AccessSettings {
  readonly rights: KubeconfigRights;
}

export interface BackupSettings extends ClusterAccessSettings {
  /** Public keys of age. */
  readonly recipients: readonly string[];
  /** Path of the folder for the files. */
  readonly outputFolder: string;
  readonly output: OutputFormat;
}

export interface ImportSettings extends CommonSettings {
  /** The provider's own namespace. */
  readonly podNamespace: string;
  /** What the paths of the files of a backup begin with. */
  readonly from: string;
  readonly confirm: boolean;
  readonly output: OutputFormat;
}

export interface AdoptSettings extends ClusterAccessSettings {
  /** Path of the file with the secrets of the cluster. */
  readonly secrets: string;
  /** Addresses of all control planes. */
  readonly controlPlanes: readonly string[];
  readonly workers: readonly string[];
  readonly confirm: boolean;
  readonly output: OutputFormat;
}

function toAccessSettings(command: Command, environment: ProcessEnvironment): AccessSettings {
  const { ttl, output, outputFile, force } = command.opts<
    Pick<AccessSettings, 'output' | 'outputFile' | 'force'> & { ttl: number }
  >();
  if (force && outputFile === undefined) throw new UsageError('--force needs --output-file.');
  return {
    ...toClusterAccessSettings(command, environment),
    ttlSeconds: ttl,
    ...(outputFile !== undefined && { outputFile }),
    ...{ force, output },
  };
}

export function toTalosconfigSettings(command: Command, environment: ProcessEnvironment): TalosconfigSettings {
  const { role } = command.opts<Pick<TalosconfigSettings, 'role'>>();
  return { ...toAccessSettings(command, environment), role };
}

export function toKubeconfigSettings(command: Command, environment: ProcessEnvironment): KubeconfigSettings {
  const { role, group: groups } = command.opts<{ role: KubeconfigRole; group?: readonly string[] }>();
  if (groups && command.getOptionValueSource('role') === 'cli')
    throw new UsageError('--role and --group exclude each other.');
  return { ...toAccessSettings(command, environment), rights: groups ? { groups } : { role } };
}

export function toBackupSettings(command: Command, environment: ProcessEnvironment): BackupSettings {
  const { recipient: recipients, ...outputs } = command.opts<
    Pick<BackupSettings, 'output' | 'outputFolder'> & { recipient: readonly string[] }
  >();
  const { output, outputFolder } = outputs;
  return { ...toClusterAccessSettings(command, environment), recipients, output, outputFolder };
}

export function toImportSettings(command: Command, environment: ProcessEnvironment): ImportSettings {
  const settings = toCommonSettings(command, 'people');
  const { from, confirm, output } = command.opts<Pick<ImportSettings, 'from' | 'confirm' | 'output'>>();
  return {
    ...settings,
    podNamespace: readPodNamespace(settings, environment),
    from: from.replace(/\.(objects|secrets)\.yaml$/, ''),
    ...{ confirm, output },
  };
}

export function toAdoptSettings(command: Command, environment: ProcessEnvironment): AdoptSettings {
  const { secrets, controlPlane, worker, confirm, output } = command.opts<{
    secrets: string;
    controlPlane: readonly string[];
    worker?: readonly string[];
    confirm: boolean;
    output: OutputFormat;
  }>();
  const nodes = { controlPlanes: controlPlane, workers: worker ?? [] };
  return { ...toClusterAccessSettings(command, environment), secrets, ...nodes, confirm, output };
}

function toClusterAccessSettings(command: Command, environment: ProcessEnvironment): ClusterAccessSettings {
  const settings = toCommonSettings(command, 'people');
  const { cluster } = command.opts<Pick<ClusterAccessSettings, 'cluster'>>();
  return { ...settings, podNamespace: readPodNamespace(settings, environment), cluster };
}
