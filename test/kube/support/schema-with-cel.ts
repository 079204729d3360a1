import type { Body } from './raw-kube-client.ts';

const shortString = { type: 'string', maxLength: 64 };

/** One CEL rule, for `rules`. */
export const celRule = (expression: string, more: Body = {}): Body => ({ rule: expression, ...more });

/** The part of a schema that holds CEL rules. */
export const celRules = (...list: Body[]): Body => ({ 'x-kubernetes-validations': list });

/**
 * A schema with one CEL rule of every kind that definitions use, and bounds that keep all of them within the cost
 * budget.
 */
export const schemaWithCel: Body = {
  type: 'object',
  ...celRules(
    celRule("self.metadata.name != 'forbidden'", { message: 'this name is taken' }),
    celRule("!has(self.spec.profile) || self.metadata.name.startsWith('w')", { message: 'names begin with w' }),
  ),
  properties: {
    spec: {
      type: 'object',
      ...celRules(
        celRule('[has(self.truenas), has(self.hetznerRobot)].filter(x, x).size() <= 1', {
          message: 'name at most one platform',
        }),
        celRule('!has(self.min) || !has(self.max) || self.min <= self.max', {
          // No string(self.min) here: the result of string() has no length bound, so the whole rule would be rejected.
          messageExpression: "has(self.secret) ? 'min is above max for ' + self.secret : 'min is above max'",
          fieldPath: '.max',
          reason: 'FieldValueForbidden',
        }),
        celRule('!has(oldSelf.secret) || has(self.secret)', { message: 'secret may not be removed' }),
      ),
      properties: {
        truenas: { type: 'object', properties: { url: shortString } },
        hetznerRobot: { type: 'object', properties: { user: shortString } },
        min: { type: 'integer', minimum: 0, maximum: 99 },
        max: { type: 'integer', minimum: 0, maximum: 99 },
        secret: shortString,
        profile: { ...shortString, ...celRules(celRule('self == oldSelf', { message: 'profile is immutable' })) },
        bare: { ...shortString, ...celRules(celRule("self.startsWith('a')")) },
        replicas: { type: 'integer', ...celRules(celRule('self in [1, 3, 5]', { message: '1, 3 or 5' })) },
        once: {
          ...shortString,
          ...celRules(
            celRule('oldSelf.hasValue() || self == "first"', { optionalOldSelf: true, message: 'begin with first' }),
          ),
        },
        when: {
          type: 'string',
          format: 'date-time',
          ...celRules(celRule("self > timestamp('2020-01-01T00:00:00Z')", { message: 'before 2020' })),
        },
        pools: {
          type: 'array',
          maxItems: 8,
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          ...celRules(
            celRule("self.exists_one(p, p.name == 'main') || self.size() == 0", {
              message: 'exactly one pool main',
            }),
            celRule('oldSelf.all(o, self.exists(n, n.name == o.name))', { message: 'pools may not be removed' }),
          ),
          items: {
            type: 'object',
            required: ['name'],
            ...celRules(
              celRule('!has(self.size) || self.size > 0', { message: 'size must be positive', fieldPath: '.size' }),
            ),
            properties: {
              name: { type: 'string', maxLength: 16 },
              size: { type: 'integer', ...celRules(celRule('self >= oldSelf', { message: 'may only grow' })) },
            },
          },
        },
        labels: {
          type: 'object',
          maxProperties: 8,
          additionalProperties: { type: 'string', maxLength: 16 },
          ...celRules(celRule("self.all(k, k.startsWith('x') && self[k] != '')", { message: 'keys begin with x' })),
        },
      },
    },
    status: {
      type: 'object',
      ...celRules(celRule('!has(oldSelf.cluster) || has(self.cluster)', { message: 'cluster may not be removed' })),
      properties: {
        cluster: { ...shortString, ...celRules(celRule('self == oldSelf', { message: 'cluster is immutable' })) },
        phase: shortString,
      },
    },
  },
};
