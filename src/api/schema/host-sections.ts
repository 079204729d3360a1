import { platforms } from '../../platforms/index.ts';
import { exactlyOneSectionRule, findOnlySection, optionalSections, type PlatformSection } from './platform-sections.ts';

const hostPlatforms = platforms.flatMap(({ name, hosts }) => (hosts ? [{ name, ...hosts.schemas }] : []));
const platformNames = hostPlatforms.map(({ name }) => name);

export const hostSpecSections = optionalSections(hostPlatforms.map(({ name, spec }) => [name, spec]));
export const hostStatusSections = optionalSections(
  hostPlatforms.flatMap(({ name, status }) => (status ? [[name, status]] : [])),
);

/** The platform of a Host, with the raw section; undefined when there is none or more than one. */
export const findHostSection = (spec: object): PlatformSection | undefined => findOnlySection(platformNames, spec);

const oneSectionRule = exactlyOneSectionRule(platformNames);

/** The CEL rules of a spec. An ID has no meaning on another platform, so the platform cannot be changed, either. */
export const hostSectionRules = [
  oneSectionRule,
  {
    rule: platformNames.map((name) => `(!has(oldSelf.${name}) || has(self.${name}))`).join(' && '),
    message: 'the platform of a Host cannot be changed: create a new Host instead',
  },
  ...hostPlatforms.map(({ name, serverID: { pattern, message } }) => ({
    rule: `!has(self.${name}) || self.serverID.matches(${JSON.stringify(pattern.source)})`,
    message,
    fieldPath: '.serverID',
  })),
];

/** The violation of those rules by a single object; undefined: there is none. */
export function findSectionFault(spec: { readonly serverID: string }) {
  const given = findHostSection(spec);
  const form = hostPlatforms.find(({ name }) => name === given?.name)?.serverID;
  if (!form) return { path: [], message: oneSectionRule.message };
  return form.pattern.test(spec.serverID) ? undefined : { path: ['serverID'], message: form.message };
}
