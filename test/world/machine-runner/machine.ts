/**
 * The interface between the platform (TrueNAS, Robot), which switches machines on, and the system that runs. Every path
 * is a real local file. The part that `--machine-runner COMMAND` gets on standard input is in
 * machine-runner/machine-document.ts.
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
    /** Model of a real drive; default: QEMU's. */
    readonly model?: string;
    /** E.g. `eui.00a1b2c3d4e5f601` or `0x5000c500aabbcc07`. */
    readonly wwn?: string;
    readonly rotational?: boolean;
    /** Kernel name, e.g. `nvme1n1`; by default drives are numbered in order. */
    readonly kernelName?: string;
  }[];
  readonly cdroms: readonly { readonly path: string; readonly order: number }[];
  readonly nics: readonly {
    readonly mac: string;
    readonly bridge: string;
    readonly model: string;
    /** The current offer of a DHCP server in its network; undefined: no answer. */
    readonly dhcp?: DhcpLease | undefined;
  }[];
  /** File of the serial console's output. */
  readonly serialLog: string;
  /** A reboot ends it, like QEMU's `-no-reboot`: the platform decides what boots next. */
  readonly rebootEnds?: true;
}

/** An IPv4 address of a DHCP offer. */
export interface DhcpLease {
  readonly address: string;
  /** Length of the prefix. */
  readonly prefix: number;
  readonly gateway: string;
}

export interface RunningMachine {
  /** Process id of the machine; undefined for a machine without a process. */
  readonly pid?: number | undefined;
  /** The ACPI button. The guest may ignore it. */
  pressPowerButton(): void;
  /** The power switch. */
  kill(): void;
  /** Resolves when the machine is off, for any reason. */
  readonly exited: Promise<void>;
  /** It ended by a reboot, if reboots end this machine. */
  readonly rebooted?: boolean;
  /** Why this boot cannot succeed, as a message for tests; undefined otherwise. */
  readonly stuck: string | undefined;
}

export interface MachineRunner {
  start(machine: MachineDescription): RunningMachine;
  /**
   * Whether the system of a machine, by name, accepts packets to an address. A runner without this function accepts
   * all.
   */
  takes?(name: string, address: string): boolean;
}
