import type { BootableSystem } from '../disks/bootable-system.ts';
import type { ServerDisk } from '../hardware.ts';
import type { RescueOptions, RunningRescue } from '../rescue/start-rescue.ts';
import type { BootActivation } from '../state.ts';
import { runLater } from '../world-time.ts';
import type { MachineContext, PowerAction, RunningSystem } from './machine-context.ts';

/** The parts of the machine that a system with SSH needs. */
function sshSystemOptions(box: MachineContext, authorizedKeys: readonly string[], end: (ending: PowerAction) => void) {
  const { address, prefix, gateway, hardware, clock, switchboard, onWrite, log } = box;
  if (address === null) throw new Error('the server has no IPv4 address');
  const options: Omit<RescueOptions, 'rootPassword'> = {
    host: address,
    port: box.sshPort,
    serverNumber: box.number,
    ...{ address, prefix, gateway, hardware, authorizedKeys, clock, switchboard, onWrite },
    onPower: (kind) => end(kind),
    memoryMiB: hardware.memoryMiB,
    udevSeconds: box.board.udevSeconds,
    keepsTrimmed: (serial) => box.keepTrimmed.has(serial),
    ...(log && { log }),
  };
  return options;
}

const afterShutdown = (box: MachineContext, task: () => void): void => runLater(box, box.delays.shutdownSeconds, task);

/** Waits for a system to end: the shutdown takes a few seconds, and the system answers meanwhile. */
async function startSshSystem(
  box: MachineContext,
  start: (end: (ending: PowerAction) => void) => Promise<RunningRescue>,
): Promise<RunningSystem & { readonly bootId: string }> {
  const { promise, resolve } = withResolvers<PowerAction>();
  const down = (ending: PowerAction): void => afterShutdown(box, () => resolve(ending));
  const system = await start(down);
  return { ended: promise, bootId: system.bootId, press: down, close: () => system.close() };
}

export const startRescueSystem = (box: MachineContext, { password, keys }: BootActivation): Promise<RunningSystem> =>
  startSshSystem(box, (end) =>
    box.software.startRescue({
      ...sshSystemOptions(
        box,
        keys.map(({ data }) => data),
        end,
      ),
      rootPassword: password,
    }),
  );

/** A Linux on a disk. A system without network access still runs. */
export async function startLinuxSystem(
  box: MachineContext,
  disk: ServerDisk,
  system: Extract<BootableSystem, { kind: 'linux' }>,
): Promise<RunningSystem> {
  const { hostname, hetznerBuild, authorizedKeys, answersSsh } = system;
  if (!answersSsh || box.address === null) return startSilentSystem(box);
  const rootDevice = `${disk.name}${disk.bus === 'nvme' ? 'p' : ''}3`;
  return await startSshSystem(box, (end) =>
    box.software.startForeignLinux({
      ...sshSystemOptions(box, authorizedKeys, end),
      hostname,
      rootDevice,
      hetznerBuild,
    }),
  );
}

/** A system without a login that obeys the buttons. */
export function startSilentSystem(box: MachineContext): RunningSystem {
  const { promise, resolve } = withResolvers<PowerAction>();
  return {
    ended: promise,
    press: (ending) => afterShutdown(box, () => resolve(ending)),
    close: async () => {},
  };
}

/** Talos from a disk. It also gets the machine's other disks. */
export function startTalosSystem(box: MachineContext, disk: ServerDisk): RunningSystem {
  const { hardware, address, prefix, gateway } = box;
  const lease = address === null ? undefined : { address, prefix, gateway };
  let comesBack = false;
  const machine = box.runner.start({
    name: `robot-${box.number}`,
    uuid: box.uuid,
    vcpus: hardware.cpu.threads,
    memoryMiB: hardware.memoryMiB,
    firmware: hardware.firmware.kind,
    cpuModel: 'host',
    disks: hardware.disks.map(({ path, sizeBytes, serial, bus, model, wwn, rotational }, index) => ({
      ...{ path, sizeBytes, serial, bus, model, wwn, rotational },
      order: serial === disk.serial ? 0 : index + 1,
    })),
    cdroms: [],
    nics: hardware.nics.map(({ mac, speedMbps }, index) => ({
      mac,
      bridge: `robot-${box.number}-${index}`,
      model: 'e1000',
      ...(index === 0 && speedMbps > 0 && lease && { dhcp: lease }),
    })),
    serialLog: box.serialLog,
    rebootEnds: true,
  });
  return {
    ended: machine.exited.then(() => (machine.rebooted || comesBack ? 'reboot' : 'off')),
    press: (ending) => {
      comesBack = ending === 'reboot';
      machine.pressPowerButton();
    },
    close: async () => {
      machine.kill();
      await machine.exited;
    },
  };
}

function withResolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
