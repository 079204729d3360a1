import type { z } from 'zod';

/** A platform's section of a kind. */
export interface PlatformSection {
  readonly name: string;
  readonly section: unknown;
}

/** The fields for the sections, by platform. The type has none of them, because platforms may be added. */
export const optionalSections = (
  schemas: readonly (readonly [platform: string, schema: z.ZodType])[],
): Record<never, z.ZodType> => Object.fromEntries(schemas.map(([name, schema]) => [name, schema.optional()]));

/** A CEL rule for the object that the sections belong to. */
export const exactlyOneSectionRule = (names: readonly string[]) => ({
  rule: `[${names.map((name) => `has(self.${name})`).join(', ')}].filter(x, x).size() == 1`,
  message: `exactly one platform section must be given: ${names.join(' or ')}`,
});

/** The only section of an object that has one of these names; undefined when there is none or more than one. */
export function findOnlySection(names: readonly string[], spec: object): PlatformSection | undefined {
  const sections: Readonly<Record<string, unknown>> = { ...spec };
  const given = names.filter((name) => sections[name] !== undefined && sections[name] !== null);
  const [name] = given;
  return given.length === 1 && name !== undefined ? { name, section: sections[name] } : undefined;
}
