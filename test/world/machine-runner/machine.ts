/**
 * The seam between whoever switches machines on (TrueNAS, Robot) and what then runs. Every path is a real local file.
 * What `--machine-runner COMMAND` gets of it on standard input is in machine-runner/machine-document.ts.
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
    /** Of a real drive; without one it is QEMU's. */
    readonly model?: string;
    /** E.g. `eui.00a1b2c3d4e5f601` or `0x5000c500aabbcc07`. */
    readonly wwn?: string;
    readonly rotational?: boolean;
    /** What the kernel calls it, e.g. `nvme1n1`; without one it is counted by order. */
    readonly kernelName?: string;
  }[];
  readonly cdroms: readonly { readonly path: string; readonly order: number }[];
  readonly nics: readonly {
    readonly mac: string;
    readonly bridge: string;
    readonly model: string;
    /** What a DHCP server in its network offers at this moment; without one, nobody answers. */
    readonly dhcp?: DhcpLease | undefined;
  }[];
  /** Where the serial console is written to. */
  readonly serialLog: string;
  /** A reboot ends it, as QEMU's `-no-reboot` does: whoever switched it on decides what boots next. */
  readonly rebootEnds?: true;
}

/** An IPv4 address as DHCP hands it out. */
export interface DhcpLease {
  readonly address: string;
  /** Length of the prefix. */
  readonly prefix: number;
  readonly gateway: string;
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
  /** It ended by a reboot, for one whose reboots end it. */
  readonly rebooted?: boolean;
  /** Why nothing will come of this boot, in words for the test that reads it; undefined while all is well. */
  readonly stuck: string | undefined;
}

export interface MachineRunner {
  start(machine: MachineDescription): RunningMachine;
  /** Whether what runs on the machine of a name takes packets to an address; nobody asks where this is not known. */
  takes?(name: string, address: string): boolean;
}
