/**
 * What a drive says of its own health: `worn` has sectors that were reallocated or used up endurance, `hot` is too warm, `none` knows no
 * SMART, and `silent` hangs whoever asks, in the kernel, where nothing ends it but the end of the boot.
 */
export const smartStates = ['well', 'worn', 'failing', 'hot', 'none', 'silent'] as const;
export type SmartState = (typeof smartStates)[number];

/** What a server is built of. A disk is a sparse file with real bytes: what is on it is what can be read there. */
export interface ServerDisk {
  /** Kernel name in the rescue system, e.g. `nvme0n1` or `sda`. Talos may give it another. */
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
    /** `partition`: GUID of the one with the loader; without it that of the Linux that was on the disk first. */
    | { readonly kind: 'disk'; readonly serial: string; readonly partition?: string };
}

/** One bare server. `firmware` is the board's state: it survives every boot and whatever is written to disks. */
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

/** Every write to a disk from whatever runs on the server: the proof that nothing was erased. */
export interface DiskWrite {
  readonly serverNumber: number;
  readonly serial: string;
  readonly offset: number;
  readonly length: number;
  /** What wrote, e.g. `dd` or `wipefs`. */
  readonly by: string;
}
