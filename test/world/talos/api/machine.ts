import { gzipSync } from 'node:zlib';
import { create } from '@bufbuild/protobuf';
import { type Any, AnySchema, type Duration, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import type { ApplyConfigurationRequest_Mode, MachineService } from '../../../../src/talos/gen/machine_pb.ts';
import { RebootRequest_Mode, ResetRequest_WipeMode } from '../../../../src/talos/gen/machine_pb.ts';
import { applyConfig } from '../apply.ts';
import { type Partition, readPartition, writePartition } from '../disk.ts';
import { readEphemeral, restartForBootstrap } from '../etcd.ts';
import { deviceName } from '../installer.ts';
import { adminKubeconfig } from '../kubeconfig.ts';
import type { Node } from '../node.ts';
import { publishSystemDisk } from '../publish.ts';
import { Queue } from '../queue.ts';
import { type ResetPlan, startReboot, startReset, startShutdown } from '../sequences.ts';
import { healthOf } from '../services.ts';
import { startUpgrade, validateUpgrade } from '../upgrade.ts';
import { rolesKey } from './context.ts';
import { invalid, plain, tooEarly, unimplemented } from './errors.ts';
import { etcdCalls } from './etcd-calls.ts';
import { statistics } from './statistics.ts';

/** Talos' own service. `onConfig` is called when maintenance mode got its configuration. */
export function machineService(node: Node, onConfig: () => void): Partial<ServiceImpl<typeof MachineService>> {
  return { ...lifeCalls(node, onConfig), ...readingCalls(node), ...etcdCalls(node), ...statistics(node) };
}

function lifeCalls(node: Node, onConfig: () => void): Partial<ServiceImpl<typeof MachineService>> {
  return {
    applyConfiguration(request, context) {
      const text = Buffer.from(request.data).toString('utf8');
      const trySeconds = seconds(request.tryModeTimeout) || 60;
      const admin = context.values.get(rolesKey).has('os:admin');
      const answer = applyConfig(
        node,
        { text, mode: request.mode, dryRun: request.dryRun, trySeconds, admin },
        onConfig,
      );
      const mode = answer.mode as ApplyConfigurationRequest_Mode;
      return { messages: [{ warnings: [...answer.warnings], mode, modeDetails: answer.details }] };
    },
    async bootstrap() {
      if (!node.bootstrapAllowed) throw tooEarly('bootstrap is not available yet');
      requireControlPlane(node, 'bootstrap');
      if (!node.timeInSync) {
        await node.sleep(5);
        if (!node.timeInSync) throw tooEarly('time is not in sync yet');
      }
      if (readEphemeral(node).etcd) throw new ConnectError('etcd data directory is not empty', Code.AlreadyExists);
      node.log('bootstrap request received');
      restartForBootstrap(node);
      return { messages: [{}] };
    },
    reboot: (request) => ({
      messages: [{ actorId: startReboot(node, { powercycle: request.mode === RebootRequest_Mode.POWERCYCLE }) }],
    }),
    shutdown: (request) => ({ messages: [{ actorId: startShutdown(node, request.force) }] }),
    reset: (request) => ({ messages: [{ actorId: startReset(node, toResetPlan(node, request)) }] }),
    async upgrade(request) {
      await validateUpgrade(node, request.image, request.force || request.preserve);
      return { messages: [{ ack: 'Upgrade request received', actorId: startUpgrade(node, request.image) }] };
    },
    rollback() {
      const disk = node.systemDisk;
      const boot = disk ? readPartition(disk, 'BOOT') : undefined;
      if (!disk || !boot) throw tooEarly('system disk not found');
      if (!boot.previous) throw plain('previous UKI not found');
      const { previous, ...current } = boot;
      writePartition(disk, 'BOOT', { ...previous, previous: current });
      startReboot(node, { takesOver: true });
      return { messages: [{}] };
    },
    metaWrite: (request) => changeMeta(node, request.key, Buffer.from(request.value).toString('utf8')),
    metaDelete: (request) => changeMeta(node, request.key, undefined),
  };
}

export function requireControlPlane(node: Node, what: string): void {
  if (!node.isControlPlane) throw unimplemented(`${what} is only available on control plane nodes`);
}

const seconds = (duration: Duration | undefined): number => Number(duration?.seconds ?? 0n);

interface ResetAsked {
  readonly graceful: boolean;
  readonly reboot: boolean;
  readonly mode: number;
  readonly systemPartitionsToWipe: readonly { readonly label: string; readonly wipe: boolean }[];
  readonly userDisksToWipe: readonly string[];
}

/** What can be seen to be wrong at once is said at once, without a code; everything else comes later, in events. */
function toResetPlan(node: Node, request: ResetAsked): ResetPlan {
  const partitions: Partition[] = [];
  if (request.userDisksToWipe.length > 0 && request.mode === ResetRequest_WipeMode.SYSTEM_DISK) {
    throw plain("reset failed: invalid input, wipe mode SYSTEM_DISK doesn't support UserDisksToWipe parameter");
  }
  if (request.systemPartitionsToWipe.length > 0 && request.mode === ResetRequest_WipeMode.USER_DISKS) {
    throw plain("reset failed: invalid input, wipe mode USER_DISKS doesn't support SystemPartitionsToWipe parameter");
  }
  for (const { label, wipe } of request.systemPartitionsToWipe) {
    const volume = node.resources.get('runtime', 'VolumeStatuses.block.talos.dev', label);
    if (!volume)
      throw plain(
        `failed to get volume status with label "${label}": resource VolumeStatuses.block.talos.dev(runtime/${label}@undefined) doesn't exist`,
      );
    if (!(volume.spec as { location?: string }).location)
      throw plain(`failed to reset: volume "${label}" is not located`);
    if (wipe) partitions.push(label as Partition);
  }
  return {
    graceful: request.graceful,
    reboot: request.reboot,
    partitions,
    systemDisk: request.mode !== ResetRequest_WipeMode.USER_DISKS,
    userDisks: request.userDisksToWipe.map((device) => userDisk(node, device)),
  };
}

function userDisk(node: Node, device: string): string {
  const disk = node.machine.disks.find((one) => `/dev/${deviceName(one, node.machine.disks)}` === device);
  if (!disk && /^\/dev\/sr\d+$/.test(device)) throw plain(`reset user disk failed: device ${device} is readonly`);
  if (!disk) throw plain(`reset user disk failed: device ${device} wasn't found`);
  if (disk.path === node.systemDisk) throw plain(`reset user disk failed: device ${device} is the system disk`);
  return disk.path;
}

function changeMeta(node: Node, key: number, value: string | undefined): { messages: Record<string, never>[] } {
  const disk = node.systemDisk;
  const meta = disk ? readPartition(disk, 'META') : undefined;
  if (!disk || !meta) throw plain('META partition is not available');
  if (key > 255) throw invalid('key must be a uint8');
  const id = `0x${key.toString(16).padStart(2, '0')}`;
  const { [id]: old, ...rest } = meta.tags;
  if (value === undefined && old === undefined) throw new ConnectError(`meta tag ${id} doesn't exist`, Code.NotFound);
  writePartition(disk, 'META', { tags: value === undefined ? rest : { ...rest, [id]: value } });
  publishSystemDisk(node);
  return { messages: [{}] };
}

function readingCalls(node: Node): Partial<ServiceImpl<typeof MachineService>> {
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
      yield { bytes: gzipSync(tar('kubeconfig', await adminKubeconfig(node))) };
    },
    async *read(request) {
      if (request.path !== '/proc/sys/kernel/random/boot_id') {
        throw plain(`stat ${request.path}: no such file or directory`);
      }
      yield { bytes: Buffer.from(`${node.bootId}\n`) };
    },
    async *dmesg(request) {
      yield* lines(node, request.follow, request.tail ? [] : node.console);
    },
    async *logs(request) {
      const known = node.services.get(request.id);
      if (!known) throw plain(`log "${request.id}" was not registered`);
      const past = known.events.map((event) => `${event.at.toISOString()} [${event.state}]: ${event.message}`);
      yield* lines(node, false, request.tailLines < 0 ? past : past.slice(-request.tailLines));
    },
    async *events(request, context) {
      const queue = new Queue<Record<string, unknown>>(AbortSignal.any([context.signal, node.signal]));
      const wanted = (actor: string) => request.withActorId === '' || request.withActorId === actor;
      const stop = node.events.onEvent((event) => {
        if (wanted(event.actorId)) queue.push({ data: any(event), id: event.id, actorId: event.actorId });
      });
      try {
        // Says that the stream has begun: talosctl acts only then.
        yield { actorId: request.withActorId };
        for (const event of past(node, request.tailEvents, request.tailId, request.tailSeconds)) {
          if (wanted(event.actorId)) yield { data: any(event), id: event.id, actorId: event.actorId };
        }
        for await (const event of queue) yield event as never;
      } finally {
        stop();
      }
    },
  };
}

const any = (event: { typeUrl: string; value: Uint8Array }): Any =>
  create(AnySchema, { typeUrl: event.typeUrl, value: event.value });

function past(node: Node, count: number, id: string, ageSeconds: number): readonly Node['events']['past'][number][] {
  const all = node.events.past;
  if (id !== '') return all.filter((event) => event.id > id);
  if (ageSeconds > 0) return all.filter((event) => Date.now() - event.at.getTime() <= ageSeconds * 1000);
  return count < 0 ? [...all] : count === 0 ? [] : all.slice(-count);
}

async function* lines(node: Node, follow: boolean, first: readonly string[]): AsyncIterable<{ bytes: Uint8Array }> {
  let printed = node.console.length;
  for (const line of first) yield { bytes: Buffer.from(`${line}\n`) };
  while (follow && !node.signal.aborted) {
    for (const line of node.console.slice(printed)) yield { bytes: Buffer.from(`${line}\n`) };
    printed = node.console.length;
    await node.sleep(1);
  }
}

/** A tar archive with one file, as `talosctl kubeconfig` unpacks it (POSIX ustar). */
function tar(name: string, content: string): Buffer {
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
