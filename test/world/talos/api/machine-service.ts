import { gzipSync } from 'node:zlib';
import { type Duration, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import type { ApplyConfigurationRequest_Mode, MachineService } from '../../../../src/talos/gen/machine_pb.ts';
import { RebootRequest_Mode, ResetRequest_WipeMode } from '../../../../src/talos/gen/machine_pb.ts';
import type { TalosPartition } from '../boot/disk-partitions.ts';
import { adminKubeconfig } from '../kubernetes/admin-kubeconfig.ts';
import { readEphemeral, restartForBootstrap } from '../kubernetes/etcd.ts';
import { applyMachineConfig } from '../lifecycle/apply-config.ts';
import { type ResetPlan, startReboot, startReset, startShutdown } from '../lifecycle/sequences.ts';
import { healthOf } from '../lifecycle/services.ts';
import type { TalosNode } from '../node.ts';
import { failedPreconditionError, unimplementedError, unknownError } from './errors.ts';
import { etcdMethods } from './etcd-methods.ts';
import { imagePullMethod } from './image-service.ts';
import { rolesKey } from './roles-context.ts';
import { upgradeMethods } from './upgrade-methods.ts';

/** The machine service of Talos. `onConfig` is called when maintenance mode received its configuration. */
export function machineService(node: TalosNode, onConfig: () => void): Partial<ServiceImpl<typeof MachineService>> {
  return {
    ...lifecycleMethods(node, onConfig),
    ...readMethods(node),
    ...etcdMethods(node),
    ...upgradeMethods(node),
    ...imagePullMethod(node),
  };
}

function lifecycleMethods(node: TalosNode, onConfig: () => void): Partial<ServiceImpl<typeof MachineService>> {
  return {
    applyConfiguration(request, context) {
      const text = Buffer.from(request.data).toString('utf8');
      const trySeconds = seconds(request.tryModeTimeout) || 60;
      const admin = context.values.get(rolesKey).has('os:admin');
      const answer = applyMachineConfig(
        node,
        { text, mode: request.mode, dryRun: request.dryRun, trySeconds, admin },
        onConfig,
      );
      const mode = answer.mode as ApplyConfigurationRequest_Mode;
      return { messages: [{ warnings: [...answer.warnings], mode, modeDetails: answer.details }] };
    },
    async bootstrap(request) {
      if (!node.bootstrapAllowed) throw failedPreconditionError('bootstrap is not available yet');
      requireControlPlane(node, 'bootstrap');
      if (!node.timeInSync) {
        await node.sleep(5);
        if (!node.timeInSync) throw failedPreconditionError('time is not in sync yet');
      }
      if (readEphemeral(node).etcd) throw new ConnectError('etcd data directory is not empty', Code.AlreadyExists);
      node.log('bootstrap request received');
      restartForBootstrap(node, request.recoverEtcd ? { skipHashCheck: request.recoverSkipHashCheck } : undefined);
      return { messages: [{}] };
    },
    reboot: (request) => ({
      messages: [{ actorId: startReboot(node, { powercycle: request.mode === RebootRequest_Mode.POWERCYCLE }) }],
    }),
    shutdown: (request) => ({ messages: [{ actorId: startShutdown(node, { force: request.force }) }] }),
    reset: (request) => ({ messages: [{ actorId: startReset(node, toResetPlan(node, request)) }] }),
  };
}

export function requireControlPlane(node: TalosNode, what: string): void {
  if (!node.isControlPlane) throw unimplementedError(`${what} is only available on control plane nodes`);
}

const seconds = (duration: Duration | undefined): number => Number(duration?.seconds ?? 0n);

interface ResetRequestFields {
  readonly graceful: boolean;
  readonly reboot: boolean;
  readonly mode: number;
  readonly systemPartitionsToWipe: readonly { readonly label: string; readonly wipe: boolean }[];
  readonly userDisksToWipe: readonly string[];
}

/** An immediate validation error is returned without a code; every later error is an event. */
function toResetPlan(node: TalosNode, request: ResetRequestFields): ResetPlan {
  const partitions: TalosPartition[] = [];
  if (request.userDisksToWipe.length > 0 || request.mode === ResetRequest_WipeMode.USER_DISKS) {
    throw unimplementedError('a reset of user disks is not simulated');
  }
  for (const { label, wipe } of request.systemPartitionsToWipe) {
    const volume = node.resources.get('runtime', 'VolumeStatuses.block.talos.dev', label);
    if (!volume)
      throw unknownError(
        `failed to get volume status with label "${label}": resource VolumeStatuses.block.talos.dev(runtime/${label}@undefined) doesn't exist`,
      );
    if (!(volume.spec as { location?: string }).location)
      throw unknownError(`failed to reset: volume "${label}" is not located`);
    if (wipe) partitions.push(label as TalosPartition);
  }
  return {
    graceful: request.graceful,
    reboot: request.reboot,
    partitions,
  };
}

function readMethods(node: TalosNode): Partial<ServiceImpl<typeof MachineService>> {
  return {
    version: () => ({
      messages: [
        {
          version: {
            tag: `v${node.image.version}`,
            sha: '',
            built: '',
            goVersion: 'go1.26.0',
            os: 'linux',
            arch: node.image.arch,
          },
          platform: { name: node.platform, mode: node.platform === 'metal' ? 'metal' : 'cloud' },
          features: { rbac: true },
        },
      ],
    }),
    hostname: () => ({ messages: [{ hostname: node.hostname }] }),
    serviceList: () => ({
      messages: [
        {
          services: node.services.list().map((service) => ({
            id: service.id,
            state: service.state,
            events: {
              events: service.events.map((event) => ({
                msg: event.message,
                state: event.state,
                ts: timestampFromDate(event.at),
              })),
            },
            health: { ...healthOf(service.healthy, service.message), lastChange: timestampFromDate(service.changed) },
          })),
        },
      ],
    }),
    async *kubeconfig() {
      requireControlPlane(node, 'kubeconfig');
      yield { bytes: gzipSync(tarWithFile('kubeconfig', await adminKubeconfig(node))) };
    },
    async *read(request) {
      const content = readFile(node, request.path);
      // talos: v1alpha1_server.go, Read
      if (content === undefined)
        throw new ConnectError(`stat ${request.path}: no such file or directory`, Code.NotFound);
      yield { bytes: content };
    },
  };
}

/** The files that are simulated. Of etcd's database only the fact that there is one. */
function readFile(node: TalosNode, path: string): Buffer | undefined {
  if (path === '/proc/sys/kernel/random/boot_id') return Buffer.from(`${node.bootId}\n`);
  if (path === '/var/lib/etcd/member/snap/db' && readEphemeral(node).etcd) return Buffer.alloc(1024);
  return undefined;
}

/** A tar archive with one file, as `talosctl kubeconfig` unpacks it (POSIX ustar). */
function tarWithFile(name: string, content: string): Buffer {
  const body = Buffer.from(content, 'utf8');
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write('0000600\0', 100);
  header.write('0000000\0', 108);
  header.write('0000000\0', 116);
  header.write(`${body.length.toString(8).padStart(11, '0')}\0`, 124);
  header.write(
    `${Math.floor(Date.now() / 1000)
      .toString(8)
      .padStart(11, '0')}\0`,
    136,
  );
  header.write('        ', 148);
  header.write('0', 156);
  header.write('ustar\0' + '00', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  const padding = Buffer.alloc((512 - (body.length % 512)) % 512);
  return Buffer.concat([header, body, padding, Buffer.alloc(1024)]);
}
