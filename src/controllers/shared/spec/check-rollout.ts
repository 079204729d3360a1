import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import type { Diagnostic } from '../../../engine/diagnostic.ts';
import { isTimeZone } from '../../rollout/policy/rollout-windows.ts';
import { invalidField } from './invalid-field.ts';

/** The schema cannot know the zones of the IANA database. */
export function checkRollout({ rollout }: ProviderConfigSpec): Diagnostic[] {
  return rollout.windows.flatMap(({ timeZone }, i) => checkTimeZone(`rollout.windows[${i}].timeZone`, timeZone));
}

export const checkTimeZone = (field: string, timeZone: string): Diagnostic[] =>
  isTimeZone(timeZone)
    ? []
    : [invalidField(field, `There is no time zone ${timeZone}. Use one of the IANA database, e.g. Europe/Berlin.`)];
