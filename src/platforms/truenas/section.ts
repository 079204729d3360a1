import { z } from 'zod';
import { rules } from '../../engine/section-parts.ts';
import { datasetPrefix, oneProofOnly, oneProofRule, provesOnce, sharedFields, systemFields } from './config.ts';

const needed = ['url', 'credentialsRef', 'pool', 'bridge'] as const;
const ofOne = [
  'url',
  'credentialsRef',
  'login',
  'caBundle',
  'tlsFingerprint',
  'pool',
  'furtherPools',
  'bridge',
  'mtu',
] as const;

const notBeside = 'what is about a single system (url, credentialsRef, pool and the like) belongs into its entries';
const missing = (name: string): string => `truenas.${name} must be given, or truenas.systems with those of each`;

const System = z
  .strictObject({
    name: z
      .string()
      .max(32)
      .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/)
      .describe(
        'Name of the system. Machines remember it, so it stays as long as there are any; their nodes carry it in the label topology.kubernetes.io/zone.',
      ),
    ...systemFields,
    datasetPrefix: datasetPrefix
      .optional()
      .describe('Another datasetPrefix on this system. Default: that of the section.'),
  })
  .refine(provesOnce, oneProofOnly)
  .meta(rules(oneProofRule));

const has = (name: string): string => `has(self.${name})`;

const ofOneForm = rules(oneProofRule, [
  `!has(self.systems) || !(${ofOne.map(has).join(' || ')})`,
  `truenas.systems: ${notBeside}`,
]);

/** Reads like a field that is required, as each is where there is no list. */
const requiredOfOne = (name: string) => ({
  rule: `has(self.systems) || ${has(name)}`,
  message: missing(name),
  fieldPath: `.${name}`,
  reason: 'FieldValueRequired',
});

/** The section `spec.truenas` of a ProviderConfig: one system, or several. */
export const TrueNasSection = z
  .strictObject({
    url: systemFields.url.optional(),
    credentialsRef: systemFields.credentialsRef.optional(),
    login: systemFields.login,
    caBundle: systemFields.caBundle,
    tlsFingerprint: systemFields.tlsFingerprint,
    pool: systemFields.pool.optional(),
    furtherPools: systemFields.furtherPools,
    bridge: systemFields.bridge.optional(),
    mtu: systemFields.mtu,
    systems: z
      .array(System)
      .min(1)
      .max(16)
      .refine((systems) => new Set(systems.map(({ name }) => name)).size === systems.length, {
        message: 'every system needs a name of its own',
      })
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
      .optional()
      .describe(
        'Several systems in place of url, credentialsRef, pool and bridge: the machines of each cluster are spread over them. All have to lead to the same network.',
      ),
    ...sharedFields,
  })
  .refine(provesOnce, oneProofOnly)
  .refine(({ systems, ...rest }) => systems === undefined || ofOne.every((name) => rest[name] === undefined), {
    path: ['systems'],
    message: notBeside,
  })
  .superRefine(({ systems, ...rest }, context) => {
    if (systems !== undefined) return;
    for (const name of needed) {
      if (rest[name] === undefined) context.addIssue({ code: 'custom', path: [name], message: missing(name) });
    }
  })
  .meta({ 'x-kubernetes-validations': [...ofOneForm['x-kubernetes-validations'], ...needed.map(requiredOfOne)] })
  .describe('Nodes as virtual machines on TrueNAS systems, 25.04.2 or newer.');
export type TrueNasSection = z.infer<typeof TrueNasSection>;
