/**
 * The seam between whoever switches machines on (TrueNAS, Robot) and what then runs. Every path is a real local file.
 * What `--machine-runner COMMAND` gets of it on standard input is in machine-runner/document.ts.
 */
export interface MachineDescription {
  readonly name: string;
  readonly uuid: string;
  readonly vcpus: number;
  readonly memoryMiB: number;
  readonly firmware: 'uefi' | 'bios';
  /** `host` or a libvirt model name; null is QEMU's default, which is below x86-64-v2. */
  readonly cpuModel: string | null;
  /** Lower order boots first. A disk is a sparse file. */
  readonly disks: readonly {
    readonly path: string;
    readonly sizeBytes: number;
    readonly serial: string;
    readonly order: number;
    readonly bus: 'virtio' | 'sata' | 'nvme';
  }[];
  readonly cdroms: readonly { readonly path: string; readonly order: number }[];
  readonly nics: readonly { readonly mac: string; readonly bridge: string; readonly model: string }[];
  /** Where the serial console is written to. */
  readonly serialLog: string;
}

export interface RunningMachine {
  /** Of the process that is the machine; undefined for one without. */
  readonly pid?: number | undefined;
  /** The ACPI button. The guest may ignore it. */
  pressPowerButton(): void;
  /** The power switch. */
  kill(): void;
  /** Resolves when the machine is off, by whatever cause. */
  readonly exited: Promise<void>;
  /** Why nothing will come of this boot, in words for the test that reads it; undefined while all is well. */
  readonly stuck: string | undefined;
}

export interface MachineRunner {
  start(machine: MachineDescription): RunningMachine;
}
