import type { BootConfigKind } from '../../state.ts';

/** The properties of one kind of boot configuration. */
export interface BootKindDescription {
  /** Name of the parameter and field of the system to boot. */
  readonly systemField: 'os' | 'dist';
  readonly systems: readonly string[];
  readonly langs?: readonly string[];
  readonly takesKeys?: true;
  readonly hasArch?: true;
  readonly takesHostname?: true;
  readonly hasLast?: true;
  /** Error code where the kind is unavailable without a paid option. */
  readonly missingAddon?: string;
}

export const bootKindDescriptions: Readonly<Record<BootConfigKind, BootKindDescription>> = {
  rescue: {
    systemField: 'os',
    systems: ['linux', 'linuxold', 'vkvm', 'vkvmold'],
    takesKeys: true,
    hasArch: true,
    hasLast: true,
  },
  linux: {
    systemField: 'dist',
    systems: ['Debian 12 base', 'Ubuntu 24.04 LTS base', 'Rocky Linux 9 base'],
    langs: ['en'],
    takesKeys: true,
    hasArch: true,
    hasLast: true,
  },
  vnc: { systemField: 'dist', systems: ['Fedora 41', 'openSUSE 15.6'], langs: ['de_DE', 'en_US'], hasArch: true },
  windows: {
    systemField: 'dist',
    systems: ['Windows Server 2022 Standard Edition'],
    langs: ['en', 'de'],
    missingAddon: 'WINDOWS_MISSING_ADDON',
  },
  plesk: {
    systemField: 'dist',
    systems: ['Debian 12 base'],
    langs: ['en_US'],
    hasArch: true,
    takesHostname: true,
    missingAddon: 'PLESK_MISSING_ADDON',
  },
  cpanel: {
    systemField: 'dist',
    systems: ['AlmaLinux 9 base'],
    langs: ['en_US'],
    hasArch: true,
    takesHostname: true,
    missingAddon: 'CPANEL_MISSING_ADDON',
  },
};

/** Keyboards of the rescue system. */
export const rescueKeyboards: readonly string[] = ['us', 'uk', 'ch', 'de', 'fi', 'fr', 'jp'];
