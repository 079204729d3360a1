/**
 * The SMART health of a drive: `worn` has reallocated sectors or used endurance, `hot` is too warm, `none` has no
 * SMART, and `silent` blocks a reader in the kernel until the end of the boot.
 */
export const smartStates = ['well', 'worn', 'failing', 'hot', 'none', 'silent'] as const;
export type SmartState = (typeof smartStates)[number];

/** The components of a server. A disk is a sparse file with real bytes. */
export interface ServerDisk {
  /** Kernel name in the rescue system, e.g. `nvme0n1` or `sda`. Talos may assign another. */
  name: string;
  readonly path: string;
  readonly sizeBytes: number;
  readonly model: string;
  readonly serial: string;
  /** E.g. `eui.00a1b2c3d4e5f601` or `0x5000c500aabbcc07`; empty: it has none. */
  readonly wwn: string;
  readonly rotational: boolean;
  readonly sectorBytes: 512 | 4096;
  readonly bus: 'nvme' | 'sata';
  /** Default: `well`. */
  smart?: SmartState;
}

export interface ServerNic {
  /** Name in the rescue system, e.g. `eth0`. */
  readonly name: string;
  readonly mac: string;
  /** 0: no cable. */
  readonly speedMbps: number;
}

/** An entry of the firmware's boot menu. */
export interface FirmwareBootEntry {
  /** Four hexadecimal digits. */
  readonly id: string;
  readonly label: string;
  active: boolean;
  readonly target:
    | { readonly kind: 'network'; readonly nic: string }
    /** `partition`: GUID of the loader's partition; by default that of the Linux that was on the disk first. */
    | { readonly kind: 'disk'; readonly serial: string; readonly partition?: string };
}

/** One bare-metal server. `firmware` is the board's state: it survives every boot and every write to disks. */
export interface ServerHardware {
  readonly cpu: { readonly model: string; readonly threads: number };
  readonly memoryMiB: number;
  readonly nics: readonly ServerNic[];
  readonly disks: readonly ServerDisk[];
  readonly firmware: {
    readonly kind: 'uefi' | 'bios';
    entries: FirmwareBootEntry[];
    /** Identifiers of entries, first to last. */
    order: string[];
    /** Boots a disk's removable-media loader without an entry for it; some boards do not. */
    readonly findsLoaders: boolean;
  };
}

/** Every write to a disk by any system of the server. It proves that nothing was erased. */
export interface DiskWrite {
  readonly serverNumber: number;
  readonly serial: string;
  readonly offset: number;
  readonly length: number;
  /** The writing program, e.g. `dd` or `wipefs`. */
  readonly by: string;
}
