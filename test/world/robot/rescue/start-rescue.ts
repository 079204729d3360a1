import type { Log } from '../../../../src/lib/log.ts';
import type { CallInterceptor } from '../../faults/call-interceptor.ts';
import type { ScaledClock } from '../../scaled-clock.ts';
import type { DiskWrite, ServerHardware } from '../hardware.ts';
import { BlockStorage } from './devices/block-storage.ts';
import { installedTree, rescueTree } from './files/root-tree.ts';
import { RescueSystem } from './rescue-system.ts';
import { type HostKey, makeHostKey } from './ssh/host-key.ts';
import { startSshServer } from './ssh/ssh-server.ts';
import { programs } from './tools/index.ts';

/** The boot parameters of a rescue system. */
export interface RescueOptions {
  readonly host: string;
  readonly port: number;
  readonly serverNumber: number;
  /** Main address and gateway, as offered by DHCP. */
  readonly address: string;
  /** Prefix length of the main address; default 26. */
  readonly prefix?: number;
  readonly gateway: string;
  readonly hardware: ServerHardware;
  /** Null: password login is disabled. */
  readonly rootPassword: string | null;
  /** OpenSSH public key lines. */
  readonly authorizedKeys: readonly string[];
  readonly clock: ScaledClock;
  readonly switchboard: CallInterceptor;
  /** The ledger. */
  onWrite(write: DiskWrite): void;
  /** `reboot` or `poweroff` was run. sshd answers some seconds more, until `close`. */
  onPower(kind: 'reboot' | 'off'): void;
  readonly memoryMiB: number;
  /** Size of the file system in RAM; default: half of the memory. */
  readonly ramDiskMiB?: number;
  /** Simulated seconds after the boot until WWNs and links in `/dev/disk` exist; default none. */
  readonly udevSeconds?: number;
  /** Drives that keep trimmed data, by serial; default none. */
  keepsTrimmed?(serial: string): boolean;
  readonly log?: Log;
}

/** A system that answers SSH. */
export interface RunningRescue {
  readonly bootId: string;
  /** `SHA256:…`, as `ssh-keygen -l` shows it. */
  readonly hostKey: string;
  readonly port: number;
  /** Ends every connection, like an unplugged cable. Running commands continue without their client. */
  cut(): void;
  close(): Promise<void>;
}

/** The rescue system: Linux in RAM with a new host key and a new boot id. */
export async function startRescueOverSsh(options: RescueOptions): Promise<RunningRescue> {
  const system = createSystem(options, { hostname: 'rescue' });
  return await serveOverSsh(options, system, makeHostKey(), options.rootPassword);
}

/** An installed Linux on a disk, with a host key that stays. */
export type ForeignLinuxOptions = Omit<RescueOptions, 'rootPassword'> & {
  readonly hostname: string;
  /** Kernel name of the partition of `/`, e.g. `nvme0n1p3`. */
  readonly rootDevice: string;
  readonly hetznerBuild: boolean;
};

/** Starts the installed system of a disk. */
export async function startForeignLinux(options: ForeignLinuxOptions): Promise<RunningRescue> {
  const { hostname, rootDevice, hetznerBuild } = options;
  const system = createSystem(options, { hostname, rootDevice, hetznerBuild });
  return await serveOverSsh(options, system, hostKeyOfInstalledSystem(`${options.serverNumber} ${hostname}`), null);
}

/** Host keys of installed systems, by server and name: they are on a disk, and equal at every boot. */
const hostKeys = new Map<string, HostKey>();

function hostKeyOfInstalledSystem(of: string): HostKey {
  const key = hostKeys.get(of) ?? makeHostKey();
  hostKeys.set(of, key);
  return key;
}

function createSystem(
  options: Omit<RescueOptions, 'rootPassword'>,
  { hostname, rootDevice, hetznerBuild = false }: { hostname: string; rootDevice?: string; hetznerBuild?: boolean },
): RescueSystem {
  const { hardware, serverNumber, onWrite, onPower, keepsTrimmed, clock, memoryMiB, address, prefix = 26 } = options;
  const storage = new BlockStorage(hardware, serverNumber, onWrite, keepsTrimmed);
  if (rootDevice !== undefined) storage.mounted.add(rootDevice);
  return new RescueSystem(
    {
      ...{ hostname, rootDevice, hardware, storage, clock, memoryMiB, onPower, programs },
      network: { address, prefix, gateway: options.gateway },
      ramDiskMiB: options.ramDiskMiB ?? Math.floor(memoryMiB / 2),
      udevSeconds: options.udevSeconds ?? 0,
    },
    (system) => (rootDevice === undefined ? rescueTree(system) : installedTree(system, hetznerBuild)),
  );
}

async function serveOverSsh(
  options: Omit<RescueOptions, 'rootPassword'>,
  system: RescueSystem,
  hostKey: HostKey,
  password: string | null,
): Promise<RunningRescue> {
  const { host, port, switchboard, serverNumber, authorizedKeys } = options;
  const ssh = await startSshServer({
    host,
    port,
    hostKey,
    system,
    switchboard,
    serverNumber,
    password,
    authorizedKeys,
  });
  return {
    bootId: system.bootId,
    hostKey: hostKey.fingerprint,
    port: ssh.port,
    cut: ssh.cut,
    close: async () => {
      system.end();
      await ssh.close();
    },
  };
}
