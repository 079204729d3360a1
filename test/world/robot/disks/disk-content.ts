/** What a disk can be filled with. */
export type DiskContent =
  | { readonly kind: 'blank' }
  | {
      readonly kind: 'linux';
      readonly hostname: string;
      /** OpenSSH public key lines. */
      readonly authorizedKeys?: readonly string[];
      readonly answersSsh?: boolean;
      /** It was installed by the provider and says so in `/etc/hetzner-build`. */
      readonly hetznerBuild?: boolean;
    }
  | { readonly kind: 'raid-member'; readonly array: string }
  | { readonly kind: 'lvm'; readonly group: string }
  | { readonly kind: 'ceph' }
  | {
      readonly kind: 'ext4' | 'xfs' | 'btrfs' | 'swap' | 'luks' | 'vfat' | 'ntfs' | 'zfs';
      readonly label?: string;
    }
  /** `configured`: STATE holds a configuration of an earlier life. */
  | { readonly kind: 'talos'; readonly version: string; readonly configured: boolean };

/** An installed Linux as its disk tells of it. */
export interface LinuxSystem {
  readonly hostname: string;
  readonly authorizedKeys: readonly string[];
  readonly answersSsh: boolean;
  readonly hetznerBuild: boolean;
}

/** What the firmware can start from a disk. */
export type BootableSystem = { readonly kind: 'talos' } | ({ readonly kind: 'linux' } & LinuxSystem);
