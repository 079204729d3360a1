import type { FailureDomains } from '../../../engine/capabilities/failure-domains.ts';
import type { Facts } from '../../../engine/step.ts';
import { TrueNasError } from '../error-codes.ts';
import { systemEndpointOf, TrueNasConfig } from './config.ts';
import type { TrueNasSection } from './section.ts';

interface NamedSystem {
  /** Undefined for the only system of a section without a list. */
  readonly name: string | undefined;
  readonly config: TrueNasConfig;
  /** Prefix of the paths of its fields. */
  readonly path: string;
}

/** Every system of a section, each as if it were the only one. */
export function systemsOf({ systems, ...section }: TrueNasSection): readonly NamedSystem[] {
  if (!systems) return [{ name: undefined, config: TrueNasConfig.parse(section), path: 'truenas' }];
  const { datasetPrefix, sizes } = section;
  return systems.map(({ name, ...system }, i) => ({
    name,
    config: { ...system, datasetPrefix: system.datasetPrefix ?? datasetPrefix, sizes },
    path: `truenas.systems[${i}]`,
  }));
}

/** Each system of a section is a failure domain. */
export const systemFailureDomains: FailureDomains<TrueNasSection, TrueNasConfig> = {
  names: ({ systems = [] }) => systems.map(({ name }) => name),
  at: (section, failureDomain, facts) => systemAt(section, failureDomain, facts).config,
  fieldAt: (section, failureDomain, field) => {
    const [, name = 'sizes', rest = ''] = /^truenas\.(\w+)(.*)$/s.exec(field) ?? [];
    const index = section.systems?.findIndex((system) => system.name === failureDomain) ?? -1;
    const isOwn = name !== 'sizes' && index >= 0;
    // Without a prefix of its own, the error is in the shared field.
    if (!isOwn || (name === 'datasetPrefix' && !section.systems?.[index]?.datasetPrefix)) return field;
    return `truenas.systems[${index}].${name}${rest}`;
  },
};

/**
 * The system that a machine is on, or will be created on. A recorded name that is missing, because a list was added or
 * removed since, is replaced by the recorded address. No other system is tried: the objects of the machine would seem
 * to be gone there.
 */
function systemAt(section: TrueNasSection, failureDomain: string | undefined, facts: Facts): NamedSystem {
  const all = systemsOf(section);
  const [first] = all;
  if (first?.name === undefined && failureDomain === undefined && first) return first;
  const made = facts['system'];
  const found = all.find((system) =>
    failureDomain !== undefined && system.name !== undefined
      ? system.name === failureDomain
      : made === undefined || systemEndpointOf(system.config).host === made,
  );
  if (found) return found;
  const there = all.map(({ name, config }) => name ?? systemEndpointOf(config).host).join(', ');
  const whose = [failureDomain, made].filter((part) => part !== undefined).join(', ');
  throw new TrueNasError(
    'TRUENAS_SYSTEM_UNKNOWN',
    `The machine is on ${whose}; the configured systems are ${there}. Restore it until the machine is deleted.`,
  );
}
