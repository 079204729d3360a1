import { hexAddress } from '../devices/address-format.ts';
import type { RescueSystem } from '../rescue-system.ts';
import { type FileSystemNode, newVirtualDirectory, newVirtualFile } from './file-nodes.ts';

/** The supported part of `/proc`. */
export function processFiles(system: RescueSystem): Record<string, FileSystemNode> {
  const self = newVirtualDirectory(() => ({
    fd: newVirtualDirectory(() =>
      Object.fromEntries([0, 1, 2].map((number) => [String(number), newVirtualFile(() => '')])),
    ),
    mounts: newVirtualFile(() => formatMounts(system)),
    mountinfo: newVirtualFile(() => formatMounts(system)),
  }));
  return {
    cpuinfo: newVirtualFile(() => cpuInfo(system)),
    meminfo: newVirtualFile(() => formatMemoryInfo(system)),
    mdstat: newVirtualFile(() => formatMdStat(system)),
    mounts: { kind: 'link', target: 'self/mounts' },
    partitions: newVirtualFile(() => partitions(system)),
    uptime: newVirtualFile(
      () => `${system.uptimeSeconds.toFixed(2)} ${(system.uptimeSeconds * system.hardware.cpu.threads).toFixed(2)}\n`,
    ),
    version: newVirtualFile(() => 'Linux version 6.12.19 (root@rescue) (gcc (Debian 12.2.0-14) 12.2.0) #1 SMP\n'),
    cmdline: newVirtualFile(() =>
      system.rootDevice ? `BOOT_IMAGE=/vmlinuz root=/dev/${system.rootDevice} ro\n` : 'initrd=rescue.img ip=dhcp\n',
    ),
    loadavg: newVirtualFile(() => '0.00 0.01 0.00 1/200 1000\n'),
    self,
    '1': self,
    net: newVirtualDirectory(() => ({
      dev: newVirtualFile(() => netDevices(system)),
      route: newVirtualFile(() => routes(system)),
    })),
    sys: newVirtualDirectory(() => ({
      kernel: newVirtualDirectory(() => ({
        hostname: newVirtualFile(() => `${system.hostname}\n`),
        osrelease: newVirtualFile(() => '6.12.19\n'),
        random: newVirtualDirectory(() => ({ boot_id: newVirtualFile(() => `${system.bootId}\n`) })),
      })),
      vm: newVirtualDirectory(() => ({
        drop_caches: { kind: 'virtual', mode: 0o644, read: () => '0\n', write: () => {} },
      })),
    })),
    'sysrq-trigger': {
      kind: 'virtual',
      mode: 0o200,
      read: () => '',
      write: (text) => {
        if (text.startsWith('b')) system.goDown('reboot');
        if (text.startsWith('o')) system.goDown('off');
      },
    },
  };
}

function cpuInfo({ hardware }: RescueSystem): string {
  const { model, threads } = hardware.cpu;
  return Array.from({ length: threads }, (_, index) =>
    [
      `processor\t: ${index}`,
      `vendor_id\t: ${/AMD/.test(model) ? 'AuthenticAMD' : 'GenuineIntel'}`,
      `model name\t: ${model}`,
      'cpu MHz\t\t: 3400.000',
      `siblings\t: ${threads}`,
      `cpu cores\t: ${Math.max(1, threads / 2)}`,
      'flags\t\t: fpu vme de pse tsc msr pae mce cx8 cx16 sse4_1 sse4_2 popcnt aes lm',
      '',
      '',
    ].join('\n'),
  ).join('');
}

export function formatMemoryInfo({ memoryMiB, files }: RescueSystem): string {
  // The kernel reserves a little for itself.
  const total = Math.floor(memoryMiB * 1024 * 0.985);
  const free = total - 300_000 - Math.ceil(files.usedBytes / 1024);
  const line = (name: string, value: number): string => `${`${name}:`.padEnd(16)}${String(value).padStart(8)} kB\n`;
  return (
    line('MemTotal', total) +
    line('MemFree', free) +
    line('MemAvailable', free) +
    line('SwapTotal', 0) +
    line('SwapFree', 0)
  );
}

export function formatMdStat({ storage }: RescueSystem): string {
  const arrays = storage.arrays.map(({ name, members, wanted }) => {
    const blocks = Math.floor((storage.find(name)?.size ?? 0) / 1024);
    const parts = members.map((member, index) => `${member}[${index}]`).join(' ');
    const state = `[${wanted}/${members.length}] [${'U'.repeat(members.length)}${'_'.repeat(Math.max(0, wanted - members.length))}]`;
    return `${name} : active (auto-read-only) raid1 ${parts}\n      ${blocks} blocks super 1.2 ${state}\n      \n`;
  });
  return `Personalities : [raid1] [raid0] [raid6] [raid5] [raid4] [raid10] \n${arrays.join('')}unused devices: <none>\n`;
}

function partitions({ storage }: RescueSystem): string {
  const lines = storage
    .devices()
    .map(
      ({ major, minor, size, name }) =>
        `${String(major).padStart(4)} ${String(minor).padStart(8)} ${String(Math.floor(size / 1024)).padStart(10)} ${name}`,
    );
  return `major minor  #blocks  name\n\n${lines.map((line) => `${line}\n`).join('')}`;
}

/** All mounts, the root first. */
export function formatMounts(system: RescueSystem): string {
  return mountList(system)
    .map(({ source, target, type, options }) => `${source} ${target} ${type} ${options} 0 0\n`)
    .join('');
}

export interface Mount {
  readonly source: string;
  readonly target: string;
  readonly type: string;
  readonly options: string;
}

export function mountList(system: RescueSystem): Mount[] {
  const own = [...system.mounts].map(([target, { device, type, options }]) => ({
    source: device,
    target,
    type,
    options,
  }));
  const efi = {
    source: 'efivarfs',
    target: '/sys/firmware/efi/efivars',
    type: 'efivarfs',
    options: `${system.efiVariablesWritable ? 'rw' : 'ro'},nosuid,nodev,noexec,relatime`,
  };
  return [
    system.rootDevice
      ? { source: `/dev/${system.rootDevice}`, target: '/', type: 'ext4', options: 'rw,relatime' }
      : { source: 'rescue', target: '/', type: 'tmpfs', options: 'rw,relatime,size=50%' },
    { source: 'proc', target: '/proc', type: 'proc', options: 'rw,nosuid,nodev,noexec,relatime' },
    { source: 'sysfs', target: '/sys', type: 'sysfs', options: 'rw,nosuid,nodev,noexec,relatime' },
    { source: 'udev', target: '/dev', type: 'devtmpfs', options: 'rw,nosuid,relatime' },
    ...(system.hardware.firmware.kind === 'uefi' ? [efi] : []),
    { source: 'tmpfs', target: '/run', type: 'tmpfs', options: 'rw,nosuid,nodev' },
    ...own,
  ];
}

function netDevices({ hardware }: RescueSystem): string {
  return `Inter-|   Receive                                                |  Transmit\n face |bytes    packets\n    lo:       0       0\n${hardware.nics.map(({ name }) => `  ${name}:       0       0\n`).join('')}`;
}

function routes({ hardware, network }: RescueSystem): string {
  const name = hardware.nics[0]?.name ?? 'eth0';
  return `Iface\tDestination\tGateway\tFlags\n${name}\t00000000\t${hexAddress(network.gateway)}\t0003\n`;
}
