import { BoundedByteCounter } from '../../lib/bounded-read.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { SecretString } from '../../lib/secret-string.ts';
import {
  MachineService,
  RebootRequest_Mode as RebootMode,
  type ServiceInfo,
  ResetRequest_WipeMode as WipeMode,
  ApplyConfigurationRequest_Mode as WireMode,
} from '../gen/machine_pb.ts';
import { singleMessage, type TalosCallOptions, type TalosConnection } from './connection.ts';
import { redact } from './errors.ts';
import { talosLimits } from './limits.ts';
import { findResource, listResources, resourceKinds, type TalosResource, type TalosResourceKind } from './resources.ts';

/** The stage of a node (`MachineStatus` of Talos). */
export const machineStages = [
  'unknown',
  'booting',
  'installing',
  'maintenance',
  'running',
  'rebooting',
  'shutting down',
  'resetting',
  'upgrading',
] as const;
export type MachineStage = (typeof machineStages)[number];

export interface NodeMachineStatus {
  readonly stage: MachineStage;
  /** Meaningless without the stage: it is also true during maintenance, installation and reboot. */
  readonly ready: boolean;
  /** The unmet conditions that the node reports. Only relevant in the stages booting and running. */
  readonly unmetConditions: readonly { readonly name: string; readonly reason: string }[];
}

export interface NodeVersion {
  /** Without the leading `v`. */
  readonly version: string;
  /** `nocloud`, `metal`; empty until Talos reports it. */
  readonly platform: string;
}

export interface NodeService {
  readonly id: string;
  readonly state: string;
  /** Undefined when the service has no health check. */
  readonly healthy: boolean | undefined;
  /** The last message of the service, without potential secrets; empty before the first message. */
  readonly message: string;
  /** The time of the message on the clock of the node, as seconds and nanoseconds. It differs after every change. */
  readonly changedAt: string;
}

/** Calls that every node supports, also a node in maintenance mode. */
export interface NodeReadCalls {
  version(options?: TalosCallOptions): Promise<NodeVersion>;
  machineStatus(options?: TalosCallOptions): Promise<NodeMachineStatus>;
  services(options?: TalosCallOptions): Promise<readonly NodeService[]>;
  findResource(kind: TalosResourceKind, id: string, options?: TalosCallOptions): Promise<TalosResource | undefined>;
  listResources(kind: TalosResourceKind, options?: TalosCallOptions): Promise<readonly TalosResource[]>;
}

/**
 * Use `auto` for a node in maintenance mode, and `no-reboot` for a configured node, which rejects a change that needs a
 * reboot. `staged` takes effect with the next boot, `try` reverts itself after a minute.
 */
export type ApplyMode = 'auto' | 'no-reboot' | 'reboot' | 'staged' | 'try';

export interface NodeConfigCalls {
  /**
   * Applies a configuration to the node. Returns the node's warnings. Throws TALOS_CONFIG_REFUSED without quoting the
   * configuration.
   */
  applyConfiguration(config: SecretString, mode: ApplyMode, options?: TalosCallOptions): Promise<readonly string[]>;
  /**
   * Lets the node validate a configuration that it does not get, and returns the mode in which it would apply it: before
   * Talos 1.14 `reboot` for a change that needs one, since then always `no-reboot`. Throws like `applyConfiguration`. The
   * answer contains a diff with secrets, which is dropped.
   */
  tryConfiguration(config: SecretString, options?: TalosCallOptions): Promise<'no-reboot' | 'reboot'>;
}

export interface ResetOptions {
  /** Drains the node and removes it from etcd first. Never on the last control plane: the reset would not end. */
  readonly graceful: boolean;
  /** Reboots afterwards, otherwise powers off. */
  readonly reboot: boolean;
  /**
   * `configuration`: the partitions that make the machine a node of this cluster (STATE and EPHEMERAL); Talos stays and
   * waits for a configuration. `disk`: the whole system disk. `data`: the partitions with /var, and so the data of etcd;
   * the node keeps its configuration.
   */
  readonly wipe: 'configuration' | 'disk' | 'data';
}

/**
 * Calls that change the state of a node. They take effect after the response, so that the response proves nothing:
 * observe the node again.
 */
export interface NodeLifecycleCalls {
  reset(reset: ResetOptions, options?: TalosCallOptions): Promise<void>;
  /**
   * `firmware`: shuts down in order and starts as after a hardware reset, from the firmware's boot device. `kernel`:
   * may use kexec into the system on the disk, which is faster and bypasses the firmware.
   */
  reboot(through: 'firmware' | 'kernel', options?: TalosCallOptions): Promise<void>;
  /** `force` does not wait for workloads to move. */
  shutdown(shutdown: { readonly force: boolean }, options?: TalosCallOptions): Promise<void>;
  /** Differs after every boot. */
  bootId(options?: TalosCallOptions): Promise<string>;
}

/** Limit of one-word values, such as a version. */
const maxWordLength = 128;

/** The node validates a configuration against its disks and may pull images, hence the longer timeout. */
const applyTimeoutSeconds = 60;

export function createNodeReadCalls(connection: TalosConnection): NodeReadCalls {
  return {
    version: async (options = {}) => {
      const reply = await connection.call(MachineService, 'Version', options, (client, call) =>
        client.version({}, call),
      );
      const { version, platform } = singleMessage(reply.messages, 'Version');
      const short = (text = '') => text.slice(0, maxWordLength);
      return { version: short(version?.tag).replace(/^v/, ''), platform: short(platform?.name) };
    },
    machineStatus: async (options = {}) =>
      toMachineStatus(await findResource(connection, resourceKinds.machineStatus, 'machine', options)),
    services: async (options = {}) => {
      const reply = await connection.call(MachineService, 'ServiceList', options, (client, call) =>
        client.serviceList({}, call),
      );
      return singleMessage(reply.messages, 'ServiceList').services.map(toService);
    },
    findResource: (kind, id, options) => findResource(connection, kind, id, options),
    listResources: (kind, options) => listResources(connection, kind, options),
  };
}

function toService({ id, state, health, events }: ServiceInfo): NodeService {
  const last = events?.events.at(-1);
  return {
    id,
    state,
    healthy: health === undefined || health.unknown ? undefined : health.healthy,
    message: redact(last?.msg ?? ''),
    changedAt: last?.ts ? `${last.ts.seconds}.${last.ts.nanos}` : '',
  };
}

const applyModes: Readonly<Record<ApplyMode, WireMode>> = {
  auto: WireMode.AUTO,
  'no-reboot': WireMode.NO_REBOOT,
  reboot: WireMode.REBOOT,
  staged: WireMode.STAGED,
  try: WireMode.TRY,
};

export function createNodeConfigCalls(connection: TalosConnection): NodeConfigCalls {
  return {
    applyConfiguration: async (config, mode, options = {}) => {
      const slow = { ...options, seconds: applyTimeoutSeconds };
      const reply = await connection.call(MachineService, 'ApplyConfiguration', slow, (client, call) =>
        client.applyConfiguration({ data: Buffer.from(config.reveal(), 'utf8'), mode: applyModes[mode] }, call),
      );
      return singleMessage(reply.messages, 'ApplyConfiguration').warnings;
    },
    tryConfiguration: async (config, options = {}) => {
      const slow = { ...options, seconds: applyTimeoutSeconds };
      const request = { data: Buffer.from(config.reveal(), 'utf8'), mode: applyModes.auto, dryRun: true };
      const reply = await connection.call(MachineService, 'ApplyConfiguration', slow, (client, call) =>
        client.applyConfiguration(request, call),
      );
      const { mode } = singleMessage(reply.messages, 'ApplyConfiguration');
      return mode === WireMode.REBOOT ? 'reboot' : 'no-reboot';
    },
  };
}

export function createNodeLifecycleCalls(connection: TalosConnection): NodeLifecycleCalls {
  return {
    reset: async ({ graceful, reboot, wipe }, options = {}) => {
      const labels =
        wipe === 'data'
          ? await findDataPartitions(connection, options)
          : wipe === 'configuration'
            ? ['STATE', 'EPHEMERAL']
            : [];
      const request = {
        graceful,
        reboot,
        mode: WipeMode.SYSTEM_DISK,
        systemPartitionsToWipe: labels.map((label) => ({ label, wipe: true })),
      };
      await connection.call(MachineService, 'Reset', options, (client, call) => client.reset(request, call));
    },
    reboot: async (through, options = {}) => {
      const mode = through === 'firmware' ? RebootMode.POWERCYCLE : RebootMode.DEFAULT;
      await connection.call(MachineService, 'Reboot', options, (client, call) => client.reboot({ mode }, call));
    },
    shutdown: async ({ force }, options = {}) => {
      await connection.call(MachineService, 'Shutdown', options, (client, call) => client.shutdown({ force }, call));
    },
    bootId: (options = {}) =>
      connection.call(MachineService, 'Read', options, async (client, call) => {
        const pieces: Uint8Array[] = [];
        const count = new BoundedByteCounter(talosLimits.fileBytes);
        for await (const { bytes } of client.read({ path: '/proc/sys/kernel/random/boot_id' }, call)) {
          count.add(bytes);
          pieces.push(bytes);
        }
        const id = Buffer.concat(pieces).toString('utf8').trim();
        if (id === '') throw new ProviderError('TALOS_CALL_FAILED', `${connection.address}: the boot id is empty.`);
        return id;
      }),
  };
}

/** Since Talos 1.14 a configuration can give etcd a partition of its own. */
async function findDataPartitions(connection: TalosConnection, options: TalosCallOptions): Promise<string[]> {
  const volume = await findResource(connection, resourceKinds.volume, 'ETCD', options);
  const isPartition = (volume?.spec as { type?: unknown } | undefined)?.type === 'partition';
  return ['EPHEMERAL', ...(isPartition ? ['ETCD'] : [])];
}

/** A node without a status has just begun to boot. */
function toMachineStatus(resource: TalosResource | undefined): NodeMachineStatus {
  const spec = (resource?.spec ?? {}) as { stage?: unknown; status?: { ready?: unknown; unmetConditions?: unknown } };
  const conditions = spec.status?.unmetConditions;
  return {
    stage: machineStages.find((stage) => stage === spec.stage) ?? 'unknown',
    ready: spec.status?.ready === true,
    unmetConditions: Array.isArray(conditions)
      ? conditions.map(({ name, reason }) => ({ name: String(name ?? ''), reason: String(reason ?? '') }))
      : [],
  };
}
