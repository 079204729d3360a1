import { formatMemoryInfo } from '../files/proc-files.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import type { RescueSystem } from '../rescue-system.ts';

const say =
  (text: (process: RescueProcess) => string): RescueProgram =>
  async (process) => {
    await process.out(`${text(process)}\n`);
    return 0;
  };

const uname = say((process) => {
  const { hostname } = process.system;
  const parts: readonly [string, string][] = [
    ['s', 'Linux'],
    ['n', hostname],
    ['r', '6.12.19'],
    ['v', '#1 SMP PREEMPT_DYNAMIC'],
    ['m', 'x86_64'],
    ['o', 'GNU/Linux'],
  ];
  const flags = process.args.slice(1).join('').replaceAll('-', '') || 's';
  return parts
    .filter(([letter]) => flags.includes('a') || flags.includes(letter))
    .map(([, value]) => value)
    .join(' ');
});

function cpuRows({ hardware }: RescueSystem): [string, string][] {
  const { model, threads } = hardware.cpu;
  return [
    ['Architecture:', 'x86_64'],
    ['CPU op-mode(s):', '32-bit, 64-bit'],
    ['Byte Order:', 'Little Endian'],
    ['CPU(s):', String(threads)],
    ['On-line CPU(s) list:', `0-${threads - 1}`],
    ['Vendor ID:', /AMD/.test(model) ? 'AuthenticAMD' : 'GenuineIntel'],
    ['Model name:', model],
    ['Thread(s) per core:', threads > 1 ? '2' : '1'],
    ['Core(s) per socket:', String(Math.max(1, Math.floor(threads / 2)))],
    ['Socket(s):', '1'],
    ['CPU max MHz:', '5000.0000'],
    ['Flags:', 'fpu vme de pse tsc msr pae mce cx8 cx16 sse4_1 sse4_2 popcnt aes lm'],
  ];
}

const lscpu: RescueProgram = async (process) => {
  const rows = cpuRows(process.system);
  if (process.args.some((arg) => arg === '-J' || arg === '--json')) {
    const objects = rows.map(
      ([field, data]) =>
        `      {\n         "field": ${JSON.stringify(field)},\n         "data": ${JSON.stringify(data)}\n      }`,
    );
    await process.out(`{\n   "lscpu": [\n${objects.join(',').replaceAll('},      {', '},{')}\n   ]\n}\n`);
  } else await process.out(rows.map(([field, data]) => `${field.padEnd(33)}${data}\n`).join(''));
  return 0;
};

const dmidecode: RescueProgram = async (process) => {
  const { hardware, memoryMiB } = process.system;
  const keywords: Readonly<Record<string, string>> = {
    'system-manufacturer': 'World',
    'system-product-name': 'World Server',
    'system-serial-number': hardware.disks[0]?.serial ?? '',
    'baseboard-product-name': 'World Board',
    'processor-version': hardware.cpu.model,
    'bios-version': '1.0',
  };
  const at = process.args.findIndex((arg) => arg === '-s' || arg === '--string');
  if (at >= 0) {
    const value = keywords[process.args[at + 1] ?? ''];
    if (value === undefined) return await process.fail(`Invalid keyword: ${process.args[at + 1]}`, 2);
    await process.out(`${value}\n`);
    return 0;
  }
  await process.out(
    `# dmidecode 3.4\nGetting SMBIOS data from sysfs.\nSMBIOS 3.3.0 present.\n\nHandle 0x0001, DMI type 1, 27 bytes\nSystem Information\n\tManufacturer: World\n\tProduct Name: World Server\n\nHandle 0x0011, DMI type 17, 92 bytes\nMemory Device\n\tSize: ${Math.round(memoryMiB / 1024)} GB\n\n`,
  );
  return 0;
};

const free: RescueProgram = async (process) => {
  const bytes = process.args.includes('-b') ? 1024 : 1;
  const value = (name: string): number =>
    Number(new RegExp(`${name}:\\s+(\\d+)`).exec(formatMemoryInfo(process.system))?.[1] ?? 0) * bytes;
  const cells = [
    value('MemTotal'),
    value('MemTotal') - value('MemFree'),
    value('MemFree'),
    0,
    0,
    value('MemAvailable'),
  ];
  const head = ['total', 'used', 'free', 'shared', 'buff/cache', 'available'];
  await process.out(
    `${' '.repeat(8)}${head.map((name) => name.padStart(12)).join('')}\nMem:    ${cells.map((cell) => String(cell).padStart(12)).join('')}\nSwap:   ${[0, 0, 0].map((cell) => String(cell).padStart(12)).join('')}\n`,
  );
  return 0;
};

const lspci: RescueProgram = async (process) => {
  const { nics, disks } = process.system.hardware;
  const cards = nics.map(
    (_nic, index) => `0${index + 1}:00.0 Ethernet controller: Intel Corporation Ethernet Connection`,
  );
  const drives = disks
    .filter(({ bus }) => bus === 'nvme')
    .map(({ model }, index) => `1${index}:00.0 Non-Volatile memory controller: ${model}`);
  await process.out([...cards, ...drives].map((line) => `${line}\n`).join(''));
  return 0;
};

const hostname: RescueProgram = async (process) => {
  if (process.args.includes('-I')) return await say(({ system }) => `${system.network.address} `)(process);
  return await say(({ system }) => system.hostname)(process);
};

const uptime = say(
  ({ system }) => ` up ${Math.floor(system.uptimeSeconds / 60)} min,  0 users,  load average: 0.00, 0.00, 0.00`,
);

export const machineTools: Readonly<Record<string, RescueProgram>> = {
  ...{ uname, lscpu, dmidecode, free, lspci, hostname, uptime },
  nproc: say(({ system }) => String(system.hardware.cpu.threads)),
  sync: () => 0,
  dmesg: () => 0,
  modprobe: () => 0,
};
