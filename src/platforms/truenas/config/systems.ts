import type { FailureDomains } from '../../../engine/capabilities/failure-domains.ts';
import type { Facts } from '../../../engine/platform.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { systemEndpointOf, TrueNasConfig } from './config.ts';
import type { TrueNasSection } from './section.ts';

interface NamedSystem {
  /** Undefined for the only one of a section without a list. */
  readonly name: string | undefined;
  readonly config: TrueNasConfig;
  /** What precedes its fields. */
  readonly path: string;
}

/** Every system that a section describes, each as if there were no other. */
export function systemsOf({ systems, ...section }: TrueNasSection): readonly NamedSystem[] {
  if (!systems) return [{ name: undefined, config: TrueNasConfig.parse(section), path: 'truenas' }];
  const { datasetPrefix, sizes } = section;
  return systems.map(({ name, ...system }, i) => ({
    name,
    config: { ...system, datasetPrefix: system.datasetPrefix ?? datasetPrefix, sizes },
    path: `truenas.systems[${i}]`,
  }));
}

/** The systems of a section are its places. */
export const systemFailureDomains: FailureDomains<TrueNasSection, TrueNasConfig> = {
  names: ({ systems = [] }) => systems.map(({ name }) => name),
  at: (section, site, facts) => systemAt(section, site, facts).config,
  fieldAt: (section, site, field) => {
    const [, name = 'sizes', rest = ''] = /^truenas\.(\w+)(.*)$/s.exec(field) ?? [];
    const index = section.systems?.findIndex((system) => system.name === site) ?? -1;
    const isOwn = name !== 'sizes' && index >= 0;
    // Where one has no prefix of its own, the fault is in the one that all share.
    if (!isOwn || (name === 'datasetPrefix' && !section.systems?.[index]?.datasetPrefix)) return field;
    return `truenas.systems[${index}].${name}${rest}`;
  },
};

/**
 * The system that a machine is on or is to be made on. One whose list has lost its name, or that has become a list since, is
 * known by the address that was written down before anything was made. Nothing is looked for anywhere else: what was made
 * would be taken for gone.
 */
function systemAt(section: TrueNasSection, site: string | undefined, facts: Facts): NamedSystem {
  const all = systemsOf(section);
  const [first] = all;
  if (first?.name === undefined && site === undefined && first) return first;
  const made = facts['system'];
  const found = all.find((system) =>
    site !== undefined && system.name !== undefined
      ? system.name === site
      : made === undefined || systemEndpointOf(system.config).host === made,
  );
  if (found) return found;
  const there = all.map(({ name, config }) => name ?? systemEndpointOf(config).host).join(', ');
  const whose = [site, made].filter((part) => part !== undefined).join(', ');
  throw new ProviderError(
    'TRUENAS_SYSTEM_UNKNOWN',
    `The machine is on ${whose}; there are ${there}. Put it back until the machine is gone.`,
  );
}
