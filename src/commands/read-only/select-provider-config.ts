import type { ProviderConfig } from '../../api/provider-config.ts';
import { ProviderError } from '../../lib/errors.ts';

/** The ProviderConfig of the given name; without a name, the only one that exists. Throws CONFIG_INVALID. */
export function selectProviderConfig(configs: readonly ProviderConfig[], name: string | undefined): ProviderConfig {
  const [found, ...more] = configs.filter(({ metadata }) => name === undefined || metadata.name === name);
  if (found && more.length === 0) return found;
  const names = configs.map(({ metadata }) => metadata.name).join(', ');
  throw new ProviderError(
    'CONFIG_INVALID',
    name !== undefined
      ? `There is no ProviderConfig ${name}.`
      : `There is ${names ? `more than one ProviderConfig: select one with --provider-config (${names}).` : 'no ProviderConfig.'}`,
  );
}
