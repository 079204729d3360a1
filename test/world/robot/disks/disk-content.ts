/** The content of a disk. */
export type DiskContent =
  | { readonly kind: 'blank' }
  | {
      readonly kind: 'linux';
      readonly hostname: string;
      /** OpenSSH public key lines. */
      readonly authorizedKeys?: readonly string[];
      readonly answersSsh?: boolean;
      /** Hetzner's installimage installed it, and `/etc/hetzner-build` exists. */
      readonly hetznerBuild?: boolean;
    }
  | { readonly kind: 'raid-member'; readonly array: string }
  | { readonly kind: 'lvm'; readonly group: string }
  | { readonly kind: 'ceph' }
  | {
      readonly kind: 'ext4' | 'xfs' | 'btrfs' | 'swap' | 'luks' | 'vfat' | 'ntfs' | 'zfs';
      readonly label?: string;
    }
  /** `configured`: STATE holds the configuration of an earlier installation. */
  | { readonly kind: 'talos'; readonly version: string; readonly configured: boolean };

/** An installed Linux as described by its disk. */
export interface LinuxSystem {
  readonly hostname: string;
  readonly authorizedKeys: readonly string[];
  readonly answersSsh: boolean;
  readonly hetznerBuild: boolean;
}

/** The systems that the firmware can start from a disk. */
export type BootableSystem = { readonly kind: 'talos' } | ({ readonly kind: 'linux' } & LinuxSystem);
