import type { Command } from 'commander';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import type { BindAddress } from '../../server/listen.ts';
import { type CommonSettings, readPodNamespace, toCommonSettings } from './common-settings.ts';
import { type ProcessEnvironment, readEnvironmentVariable } from './environment-variables.ts';
import { type ControllerFlagValue, maxNameLength } from './option-values.ts';
import { UsageError } from './usage-error.ts';

/** The identity of the provider instance. */
export interface InstanceSettings extends CommonSettings {
  readonly environment: string;
  readonly providerName: string;
}

/** Settings of `init`. */
export interface InitSettings extends InstanceSettings {
  /** Whether missing openMCP kinds are installed, too. */
  readonly withOpenmcpCrds: boolean;
}

/** Where and with which certificates cluster-autoscaler is served. */
export interface AutoscalerSettings {
  readonly address: BindAddress;
  /** Folder with `tls.crt`, `tls.key` and `ca.crt`. */
  readonly folder: string;
}

/** Where the status page is served. */
export interface StatusPageSettings {
  readonly address: BindAddress;
  /** Folder with `tls.crt` and `tls.key`. Absent: a self-signed certificate is created at startup. */
  readonly folder?: string;
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
  /** Absent: autoscalers are not served. */
  readonly autoscaler?: AutoscalerSettings;
  /** Absent: no status page. */
  readonly statusPage?: StatusPageSettings;
  /** URL of an OTLP receiver over HTTP. Absent: nothing is traced. */
  readonly otlpEndpoint?: string;
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
  /** Version of the provider. */
  readonly release?: string;
  /** The clock of the watches; default: the system's. */
  readonly watchClock?: Clock;
  /** Duration of a Lease without renewal; default: 15 seconds. All processes of one provider have to agree. */
  readonly leaseSeconds?: number;
}
/** Settings and process context of `init`. */
export interface InitOptions extends InitSettings, ProcessContext {}

export const toInitSettings = (command: Command): InitSettings => ({
  ...toInstanceSettings(command),
  withOpenmcpCrds: command.opts<InitSettings>().withOpenmcpCrds,
});

function toInstanceSettings(command: Command): InstanceSettings {
  const { environment, providerName } = command.opts<InstanceSettings>();
  if (environment.length + providerName.length > maxNameLength - 3) {
    throw new UsageError(
      `--environment and --provider-name are too long: ${environment}.${providerName}.NAME of a ClusterProfile must fit into ${maxNameLength} characters, because it is used as a label value.`,
    );
  }
  return { environment, providerName, ...toCommonSettings(command, 'operator') };
}

/** Values of the flags of `run` beside the common ones. Null: switched off. */
interface RunFlags {
  readonly metricsBindAddress: BindAddress | null;
  readonly metricsSecure: boolean;
  readonly metricsCertPath?: string;
  readonly metricsCertName: string;
  readonly metricsCertKey: string;
  readonly healthProbeBindAddress: BindAddress | null;
  readonly autoscalerBindAddress: BindAddress | null;
  readonly autoscalerCertPath?: string;
  readonly statusBindAddress: BindAddress | null;
  readonly statusCertPath?: string;
  readonly otlpEndpoint?: string;
  readonly controllers: readonly ControllerFlagValue[];
}

export function toRunSettings(command: Command, environment: ProcessEnvironment): RunSettings {
  const settings = toInstanceSettings(command);
  const flags = command.opts<RunFlags>();
  const { metricsBindAddress: address, metricsCertPath: folder, healthProbeBindAddress: health } = flags;
  const podName = readEnvironmentVariable(environment, 'POD_NAME');
  return {
    ...settings,
    ...(address && {
      metrics: {
        address,
        secure: flags.metricsSecure,
        ...(folder && {
          certificate: { folder, certFile: flags.metricsCertName, keyFile: flags.metricsCertKey },
        }),
      },
    }),
    ...(health && { health }),
    ...toAutoscalerSettings(flags),
    ...toStatusPageSettings(flags),
    ...(flags.otlpEndpoint ? { otlpEndpoint: flags.otlpEndpoint } : {}),
    controllers: flags.controllers,
    podNamespace: readPodNamespace(settings, environment),
    ...(podName && { podName }),
    accessNamespace:
      readEnvironmentVariable(environment, 'ACCESS_REQUEST_SERVICE_ACCOUNT_NAMESPACE') || 'accessrequests',
  };
}

function toAutoscalerSettings({
  autoscalerBindAddress: address,
  autoscalerCertPath: folder,
}: RunFlags): Pick<RunSettings, 'autoscaler'> {
  if (!address) return {};
  if (folder) return { autoscaler: { address, folder } };
  throw new UsageError(
    '--autoscaler-cert-path is missing: autoscalers are served over mutual TLS only. Name a folder with tls.crt, tls.key and ca.crt.',
  );
}

const toStatusPageSettings = ({
  statusBindAddress: address,
  statusCertPath: folder,
}: RunFlags): Pick<RunSettings, 'statusPage'> =>
  address ? { statusPage: { address, ...(folder && { folder }) } } : {};
