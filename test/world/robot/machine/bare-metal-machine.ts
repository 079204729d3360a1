import { setMaxListeners } from 'node:events';
import type { ServerDisk } from '../hardware.ts';
import type { BootActivation, ServerResetType } from '../state.ts';
import { type BootTarget, selectBootTarget } from './boot-order.ts';
import { DiskChangeMonitor } from './disk-change-monitor.ts';
import type { MachineContext, PowerAction, RunningSystem } from './machine-context.ts';
import { startLinuxSystem, startRescueSystem, startTalosSystem } from './running-systems.ts';

/** The phase of a machine. `nothing`: it is on, and found nothing to boot. */
export type MachinePhase =
  | 'off'
  | 'post'
  | 'network'
  | 'loading'
  | 'rescue'
  | 'installing'
  | 'linux'
  | 'talos'
  | 'nothing'
  | 'hung';

const installSeconds = 240;

/**
 * A bare-metal server with its power supply: when switched on it follows its boot order, runs a system, and repeats.
 */
export class BareMetalMachine {
  readonly box: MachineContext;
  /** Every phase since the start of the simulator, in order. */
  readonly history: MachinePhase[] = ['off'];
  /** The number of power-on self tests. */
  bootCount = 0;
  /** Of the running system, if it has a boot id. */
  bootId: string | undefined;
  /** Why this boot cannot succeed, as a message for tests. */
  stuck: string | undefined;

  #isOn = false;
  #boot = new AbortController();
  /** Why the boot is interrupted: the last request. */
  #reason: PowerAction | 'hung' | undefined;
  #occupant: RunningSystem | undefined;
  #life: Promise<void> = Promise.resolve();
  #isHurried = false;
  #arrived: () => void = () => {};
  readonly #watch: DiskChangeMonitor;

  constructor(box: MachineContext) {
    this.box = box;
    this.#watch = new DiskChangeMonitor(box);
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  get phase(): MachinePhase {
    return this.history.at(-1) ?? 'off';
  }

  /** Switches it on without the duration of a boot. Resolves when the system runs. */
  async wasOn(): Promise<void> {
    const arrived = new Promise<void>((resolve) => {
      this.#arrived = resolve;
    });
    this.#isHurried = true;
    this.switchOn();
    await arrived;
    this.#isHurried = false;
  }

  switchOn(): void {
    if (this.#isOn) return;
    this.#isOn = true;
    this.#life = this.#life.then(() => this.#live());
  }

  /** Cuts the power. */
  cut(): void {
    this.#isOn = false;
    this.#interrupt('off');
  }

  powerCycle(): void {
    this.cut();
    this.switchOn();
  }

  reset(type: Exclude<ServerResetType, 'man'>): void {
    if (type === 'power_long') this.cut();
    else if (type === 'hw') this.#restart();
    else if (type === 'sw') this.#press('reboot');
    else if (this.#isOn) this.#press('off');
    else this.switchOn();
  }

  /** The system hangs: it does not answer, and only a hard reset helps. */
  hang(): void {
    if (this.phase !== 'hung') this.#interrupt('hung');
  }

  /** Writes of Talos are detected when the ledger is read. */
  look(): void {
    this.#watch.look();
  }

  async close(): Promise<void> {
    this.cut();
    await this.#life;
  }

  #restart(): void {
    if (this.#isOn) this.#interrupt('reboot');
  }

  #interrupt(reason: PowerAction | 'hung'): void {
    this.#reason = reason;
    this.#boot.abort();
  }

  /** Buttons reach the running system; before its start, the firmware handles them. A hung system ignores them. */
  #press(desired: PowerAction): void {
    if (!this.#isOn || this.phase === 'hung') return;
    if (this.#occupant) this.#occupant.press(desired);
    else if (desired === 'reboot') this.#restart();
    else this.cut();
  }

  #enter(phase: MachinePhase): void {
    if (this.phase !== phase) this.history.push(phase);
  }

  async #sleep(seconds: number): Promise<void> {
    this.#boot.signal.throwIfAborted();
    if (!this.#isHurried) await this.box.clock.sleep(seconds, this.#boot.signal);
  }

  async #live(): Promise<void> {
    while (this.#isOn) {
      const ending = await this.#attempt(() => this.#run());
      if (ending === 'off') this.#isOn = false;
      if (ending === 'hung' && this.#isOn) await this.#attempt(() => this.#hang());
    }
    this.#enter('off');
  }

  /**
   * Runs until the system ends by itself or is interrupted; then nothing of it remains. Undefined: start again, if the
   * power is on.
   */
  async #attempt(work: () => Promise<PowerAction>): Promise<PowerAction | 'hung' | undefined> {
    this.#boot = new AbortController();
    this.#reason = undefined;
    const { signal } = this.#boot;
    setMaxListeners(0, signal);
    let ending: PowerAction | 'hung' = 'hung';
    try {
      ending = await work();
    } catch (error) {
      if (!signal.aborted) this.stuck = messageOf(error);
    }
    await this.#leave();
    if (!signal.aborted) return ending;
    return this.#reason === 'hung' ? 'hung' : undefined;
  }

  /** Until a power cut or a reset. */
  async #hang(): Promise<PowerAction> {
    if (this.stuck) this.box.log?.warn({ server: this.box.number, reason: this.stuck }, 'a server hangs');
    this.#enter('hung');
    this.#arrived();
    await this.#aborted();
    return 'reboot';
  }

  async #run(): Promise<PowerAction> {
    this.bootCount += 1;
    this.stuck = undefined;
    this.#enter('post');
    await this.#sleep(this.box.delays.postSeconds);
    if (this.box.board.isDead) throw new Error('the board is dead');
    if (this.box.board.swapsDiskNames) rotateDiskNames(this.box.hardware.disks);
    this.#enter('network');
    const found = await selectBootTarget(this.box, (seconds) => this.#sleep(seconds));
    return await this.#start(found);
  }

  async #start(found: BootTarget): Promise<PowerAction> {
    switch (found.kind) {
      case 'nothing':
        return await this.#occupied('nothing', () => idleFirmware(this));
      case 'network':
        return found.activation.kind === 'rescue'
          ? await this.#rescue(found.activation)
          : await this.#install(found.activation);
      default:
        return await this.#system(found);
    }
  }

  async #rescue(activation: BootActivation): Promise<PowerAction> {
    this.#enter('loading');
    await this.#sleep(this.box.delays.imageSeconds);
    const { board } = this.box;
    if (board.lostRescues > 0) {
      board.lostRescues -= 1;
      throw new Error('the rescue system does not come up');
    }
    return await this.#occupied('rescue', () => startRescueSystem(this.box, activation));
  }

  /** An unattended installation needs no confirmation. */
  async #install({ kind, keys }: BootActivation): Promise<PowerAction> {
    this.#enter('installing');
    const { disks } = this.box.hardware;
    const { number: serverNumber, onWrite, software } = this.box;
    const authorizedKeys = keys.map(({ data }) => data);
    const linux = { kind: 'linux', hostname: kind, authorizedKeys, hetznerBuild: true } as const;
    for (const [index, disk] of disks.entries()) {
      const { serial, sizeBytes: length } = disk;
      onWrite({ serverNumber, serial, offset: 0, length, by: `install ${kind}` });
      software.fill(disk, index === 0 ? { ...linux, answersSsh: kind === 'linux' } : { kind: 'blank' });
    }
    await this.#sleep(installSeconds);
    return 'reboot';
  }

  async #system({ disk, system }: Extract<BootTarget, { kind: 'disk' }>): Promise<PowerAction> {
    if (system.kind === 'talos')
      return await this.#occupied('talos', () => this.#watch.during(startTalosSystem(this.box, disk)));
    await this.#sleep(this.box.delays.linuxSeconds);
    return await this.#occupied('linux', () => startLinuxSystem(this.box, disk, system));
  }

  async #occupied(phase: MachinePhase, start: () => Promise<RunningSystem> | RunningSystem): Promise<PowerAction> {
    const occupant = await start();
    this.#occupant = occupant;
    this.bootId = occupant.bootId;
    this.#enter(phase);
    this.#arrived();
    return (await Promise.race([occupant.ended, this.#aborted()])) ?? 'off';
  }

  async #leave(): Promise<void> {
    const occupant = this.#occupant;
    this.#occupant = undefined;
    this.bootId = undefined;
    await occupant?.close().catch((error: unknown) => {
      this.stuck = `what ran did not end: ${messageOf(error)}`;
    });
  }

  #aborted(): Promise<undefined> {
    const { signal } = this.#boot;
    return new Promise((resolve) => {
      if (signal.aborted) resolve(undefined);
      else signal.addEventListener('abort', () => resolve(undefined), { once: true });
    });
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** A board without a bootable device waits in its menu, and handles its buttons at once. */
const idleFirmware = (machine: BareMetalMachine): RunningSystem => ({
  ended: new Promise<PowerAction>(() => {}),
  press: (desired) => (desired === 'reboot' ? machine.reset('hw') : machine.cut()),
  close: async () => {},
});

/** The kernel numbers drives in the order in which they answer: the names rotate among drives of one kind. */
function rotateDiskNames(disks: readonly ServerDisk[]): void {
  for (const bus of ['nvme', 'sata'] as const) {
    const kin = disks.filter((disk) => disk.bus === bus);
    const names = kin.map(({ name }) => name);
    for (const [index, disk] of kin.entries()) disk.name = names[(index + 1) % names.length] ?? disk.name;
  }
}
