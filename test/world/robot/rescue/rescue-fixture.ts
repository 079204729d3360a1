import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ScaledClock } from '../../scaled-clock.ts';
import { type DiskContent, fillDisk } from '../disks/bootable-system.ts';
import type { DiskWrite, ServerDisk, ServerHardware, SmartState } from '../hardware.ts';
import { BlockStorage } from './devices/block-storage.ts';
import { rescueTree } from './files/root-tree.ts';
import { Descriptor, Descriptors } from './io/open-file.ts';
import { RescueProcess } from './process.ts';
import { RescueSystem } from './rescue-system.ts';
import { programs } from './tools/index.ts';

/** The result of a command. */
export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly status: number;
}

/** A server without its network: commands run at once. */
export interface RescueFixture {
  readonly system: RescueSystem;
  readonly hardware: ServerHardware;
  readonly ledger: DiskWrite[];
  readonly power: ('reboot' | 'off')[];
  /** Like sshd: a script for `/bin/sh`. */
  sh(script: string, input?: string | Buffer): Promise<CommandResult>;
  run(args: readonly string[], input?: string | Buffer): Promise<CommandResult>;
  close(): void;
}

export interface RescueFixtureOptions {
  /** By kernel name. */
  readonly disks?: Readonly<Record<string, DiskContent>>;
  /** By kernel name. */
  readonly smart?: Readonly<Record<string, SmartState>>;
  readonly diskBytes?: number;
  readonly firmware?: 'uefi' | 'bios';
  readonly ramDiskMiB?: number;
  readonly udevSeconds?: number;
  readonly sectorBytes?: 512 | 4096;
  readonly timeScale?: number;
  readonly keepsTrimmed?: (serial: string) => boolean;
}

export function makeTestHardware(folder: string, options: RescueFixtureOptions = {}): ServerHardware {
  const { disks = { nvme0n1: { kind: 'blank' }, nvme1n1: { kind: 'blank' } }, diskBytes = 960197124096 } = options;
  const made = Object.entries(disks).map(([name, content], index): ServerDisk => {
    const isNvme = name.startsWith('nvme');
    const disk: ServerDisk = {
      name,
      path: join(folder, `${name}.raw`),
      sizeBytes: diskBytes,
      model: isNvme ? 'EXAMPLE NV960' : 'EXAMPLE HD4000',
      serial: isNvme ? `EX960000000${index + 1}` : `EXHD000${index + 1}`,
      wwn: isNvme ? `eui.00a1b2c3d4e5f60${index + 1}` : `0x5000c500aabbcc0${index + 1}`,
      rotational: !isNvme,
      sectorBytes: options.sectorBytes ?? 512,
      bus: isNvme ? 'nvme' : 'sata',
      smart: options.smart?.[name] ?? 'well',
    };
    fillDisk(disk, content);
    return disk;
  });
  const [first] = made;
  return {
    cpu: { model: 'AMD Ryzen 7 PRO 8700GE', threads: 16 },
    memoryMiB: 65536,
    nics: [
      { name: 'eth0', mac: '02:00:5e:00:00:01', speedMbps: 1000 },
      { name: 'eth1', mac: '02:00:5e:00:00:02', speedMbps: 0 },
    ],
    disks: made,
    firmware: {
      kind: options.firmware ?? 'uefi',
      entries: [
        { id: '0002', label: 'UEFI: PXE IPv4 Intel Network', active: true, target: { kind: 'network', nic: 'eth0' } },
        { id: '0003', label: 'debian', active: true, target: { kind: 'disk', serial: first?.serial ?? '' } },
        { id: '0000', label: 'UEFI OS', active: false, target: { kind: 'disk', serial: first?.serial ?? '' } },
      ],
      order: ['0002', '0003', '0000'],
      findsLoaders: true,
    },
  };
}

export function createRescueFixture(options: RescueFixtureOptions = {}): RescueFixture {
  const folder = mkdtempSync(join(tmpdir(), 'robot-box-'));
  const hardware = makeTestHardware(folder, options);
  const ledger: DiskWrite[] = [];
  const power: ('reboot' | 'off')[] = [];
  const storage = new BlockStorage(hardware, 3140017, (write) => ledger.push(write), options.keepsTrimmed);
  const system = new RescueSystem(
    {
      hostname: 'rescue',
      hardware,
      storage,
      network: { address: '203.0.113.41', prefix: 26, gateway: '203.0.113.1' },
      clock: new ScaledClock(options.timeScale ?? 0.001),
      memoryMiB: hardware.memoryMiB,
      ramDiskMiB: options.ramDiskMiB ?? 64,
      udevSeconds: options.udevSeconds ?? 0,
      programs,
      onPower: (kind) => power.push(kind),
    },
    rescueTree,
  );
  const run = (args: readonly string[], input: string | Buffer = ''): Promise<CommandResult> =>
    runProgramOn(system, args, input);
  return {
    ...{ system, hardware, ledger, power, run },
    sh: (script, input) => run(['sh', '-c', Buffer.from(script).toString('latin1')], input),
    close: () => {
      system.end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Runs one program with the given input until it and its output end. */
export async function runProgramOn(
  system: RescueSystem,
  args: readonly string[],
  input: string | Buffer,
): Promise<CommandResult> {
  const outputs: Buffer[][] = [[], []];
  let open = 2;
  let ended = (): void => {};
  const closed = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const descriptors = new Descriptors();
  let rest = Buffer.from(input);
  descriptors.set(
    0,
    new Descriptor({
      read: async (max) => {
        const taken = rest.subarray(0, max);
        rest = rest.subarray(taken.length);
        return taken;
      },
      write: async () => {},
    }),
  );
  for (const [index, output] of outputs.entries()) {
    descriptors.set(
      index + 1,
      new Descriptor({
        read: async () => Buffer.alloc(0),
        write: async (bytes) => void output.push(bytes),
        release: () => {
          open -= 1;
          if (open === 0) ended();
        },
      }),
    );
  }
  const environment = new Map([
    ['HOME', '/root'],
    ['PATH', '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
  ]);
  const process = new RescueProcess({ system, args, environment, descriptors, cwd: '/root', signal: system.signal });
  const program = system.lookUp(args[0] ?? '', '/root');
  if (program instanceof Error) throw program;
  const status = await system.execute(process, program);
  descriptors.closeAll();
  await closed;
  const [stdout = '', stderr = ''] = outputs.map((output) => Buffer.concat(output).toString());
  return { stdout, stderr, status };
}
