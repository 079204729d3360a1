import { lockAfterReboot } from '../dataset/lock-dataset.ts';
import { CallError, errnos } from '../middleware/errors.ts';
import { type NasState, type NasVm, newBootId, type PoolStatus, sleepInWorldTime } from '../nas-state.ts';
import type { TrueNasWebServer } from '../protocol/web-server.ts';
import { computeSpace } from '../storage/dataset-files.ts';
import { findRelease, type TrueNasRelease } from '../versions.ts';
import { devicesOf, isDeviceBackingAvailable, killVm, startVm, vmNameOf } from '../vm/vm-runtime.ts';
import { type Backup, type RestoreScope, restoreBackup, takeBackup } from './backup.ts';
import { dumpState, type StateDump } from './state-dump.ts';

/** Controls for tests. They bypass the interceptor. */
export interface TrueNasTestControls {
  /** The state itself, for assertions and manual changes. */
  readonly nas: NasState;
  /**
   * Restarts the middleware: connections end, job numbers begin again, machines run on. With `hostReboot` the whole
   * host reboots: machines off, a new boot id, then the machines with `autostart`.
   */
  restart(options?: { readonly hostReboot?: boolean }): Promise<void>;
  /** Copies the whole state. Machines may run meanwhile; a real backup does not guarantee consistency then. */
  backUp(): Promise<Backup>;
  /** Restores a backup and reboots: its configuration alone (default), or its pools too. */
  restore(backup: Backup, extent?: RestoreScope): Promise<void>;
  /**
   * Installs another release and reboots. The update to 26 sets `suspend_on_snapshot` on every machine, whatever it was
   * (middleware: alembic/versions/26.0, of 2026-06-08).
   */
  update(line: string): Promise<void>;
  /** The whole state as plain data. Equal states give equal data. */
  dump(): StateDump;
  /** Why this VM's (last) boot cannot succeed, or undefined. Throws a RangeError for an unknown name. */
  stuck(vmName: string): string | undefined;
  /** Kills the guest, like a crash of QEMU. */
  powerOff(vmName: string): Promise<void>;
  /** Removes a VM and its devices without an event; zvols and files stay. */
  loseVm(vmName: string): Promise<void>;
  /** Removes a device of a VM without an event. */
  loseDevice(vmName: string, matches: (attributes: Readonly<Record<string, unknown>>) => boolean): void;
  /** Fills a pool until this many bytes are left. */
  fillPool(pool: string, leaveBytes: number): Promise<void>;
  /** Sets the state of a pool. OFFLINE ends the guests with a disk in it. */
  setPoolStatus(pool: string, status: PoolStatus): Promise<void>;
  /** The next job of this method fails with this text and errno (default EFAULT). */
  failNextJob(method: string, text: string, errno?: keyof typeof errnos): void;
  /** The next job of this method hangs until the returned function is called. */
  hangNextJob(method: string): () => void;
  /** From now on each call of this method (`*`: every other) takes this many real milliseconds; 0 is none. */
  setLatency(method: string, milliseconds: number): void;
  /** Revokes the key of this user. */
  revokeKey(user: string): void;
}

/** The test controls of a simulator. */
export function createTrueNasTestControls(
  nas: NasState,
  server: TrueNasWebServer,
  become: (version: TrueNasRelease) => void,
): TrueNasTestControls {
  const find = (name: string): NasVm => {
    const vm = [...nas.vms.values()].find((one) => vmNameOf(one) === name);
    if (!vm)
      throw new RangeError(`no VM ${name}; there is ${[...nas.vms.values()].map(vmNameOf).join(', ') || 'none'}`);
    return vm;
  };
  return {
    nas,
    restart: ({ hostReboot = false } = {}) => restart(nas, server, hostReboot),
    backUp: () => takeBackup(nas),
    restore: (backup, extent = 'configuration') => restart(nas, server, true, () => restoreBackup(nas, backup, extent)),
    update: async (line) => {
      const version = findRelease(line);
      await restart(nas, server, true, async () => migrateRelease(nas, version, become));
    },
    dump: () => dumpState(nas),
    stuck: (name) => {
      const vm = find(name);
      return vm.guest ? vm.guest.machine.stuck : vm.lastStuck;
    },
    powerOff: async (name) => killVm(nas, find(name)),
    loseVm: async (name) => {
      const vm = find(name);
      await killVm(nas, vm);
      nas.vms.delete(vm.id);
      for (const device of [...nas.devices.values()]) if (device.vm === vm.id) nas.devices.delete(device.id);
    },
    loseDevice: (name, matches) => {
      const vm = find(name);
      for (const device of [...nas.devices.values()]) {
        if (device.vm === vm.id && matches(device.attributes)) nas.devices.delete(device.id);
      }
    },
    fillPool: async (name, leaveBytes) => {
      const pool = nas.pools.get(name);
      if (!pool) throw new RangeError(`no pool ${name}`);
      pool.ballastBytes = 0;
      pool.ballastBytes = Math.max(0, (computeSpace(nas).get(name)?.available ?? 0) - leaveBytes);
    },
    setPoolStatus: async (name, status) => {
      const pool = nas.pools.get(name);
      if (!pool) throw new RangeError(`no pool ${name}`);
      pool.status = status;
      if (status !== 'OFFLINE') return;
      const lost = [...nas.vms.values()].filter((vm) =>
        devicesOf(nas, vm).some((device) => !isDeviceBackingAvailable(nas, device)),
      );
      await Promise.all(lost.map((vm) => killVm(nas, vm)));
    },
    failNextJob: (method, text, errno = 'EFAULT') => nas.jobs.failNext(method, new CallError(text, errnos[errno])),
    hangNextJob: (method) => nas.jobs.hangNext(method),
    setLatency: (method, milliseconds) => {
      nas.latencies.set(method, milliseconds);
    },
    revokeKey: (user) => {
      for (const key of nas.keys)
        if (key.user === user) Object.assign(key, { expiresAt: new Date(0), revokedReason: 'revoked' });
    },
  };
}

function migrateRelease(nas: NasState, version: TrueNasRelease, become: (version: TrueNasRelease) => void): void {
  const pauses = version.suspendOnSnapshotDefault && !nas.version.suspendOnSnapshotDefault;
  if (pauses) for (const vm of nas.vms.values()) vm.row['suspend_on_snapshot'] = true;
  nas.version = version;
  become(version);
}

/** Duration of a middleware restart, in simulated time. */
const middlewareSeconds = 10;
const hostSeconds = 90;

async function restart(
  nas: NasState,
  server: TrueNasWebServer,
  hostReboot: boolean,
  meanwhile: () => Promise<void> = async () => undefined,
): Promise<void> {
  server.down();
  nas.jobs.forget();
  nas.tokens.clear();
  nas.downloads.clear();
  if (hostReboot) {
    await Promise.all([...nas.vms.values()].map((vm) => killVm(nas, vm)));
    nas.bootId = newBootId();
    nas.bootedAt = new Date();
    lockAfterReboot(nas);
    await meanwhile();
  }
  await sleepInWorldTime(nas, hostReboot ? hostSeconds : middlewareSeconds);
  server.up();
  if (!hostReboot) return;
  for (const vm of nas.vms.values()) {
    if (vm.row['autostart'] !== true) continue;
    // A machine that cannot be started stays off; the middleware only logs it.
    await startVm(nas, vm, false).catch((error: unknown) => {
      if (!(error instanceof CallError)) throw error;
    });
  }
}
