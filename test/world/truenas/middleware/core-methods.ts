import type { TrueNasRelease } from '../versions.ts';
import { CallError, errnos } from './errors.ts';
import { type ApiMethod, plainMethod } from './method.ts';
import {
  booleanModel,
  defaultedField,
  objectModel,
  optionalField,
  requiredField,
  textModel,
} from './parameter-model.ts';
import { applyQuery, type QueryOptions, queryParameters } from './query.ts';

const options = objectModel({
  legacy_jobs: optionalField(booleanModel),
  private_methods: optionalField(booleanModel),
  py_exceptions: optionalField(booleanModel),
});

/** `core.*`: ping, options of the connection, subscriptions and jobs. */
export function coreMethods(version: TrueNasRelease): readonly ApiMethod[] {
  return [
    plainMethod('core.ping', [], 'anyone', () => 'pong'),
    {
      name: 'core.set_options',
      parameters: [{ name: 'options', field: defaultedField(options, {}) }],
      access: 'anyone-unlimited',
      run: ([given], { client }) => {
        client.options = { ...client.options, ...(given as object) };
        if (version.hasJobOptions) return { ...client.options };
        client.options.legacy_jobs = true;
        return null;
      },
    },
    {
      name: 'core.subscribe',
      parameters: [{ name: 'event', field: requiredField(textModel()) }],
      access: 'user',
      run: ([event], { client }) => {
        if (!client.maySubscribe(String(event))) throw new CallError('Not authorized', errnos.EACCES);
        return client.subscribe(String(event));
      },
    },
    {
      name: 'core.unsubscribe',
      parameters: [{ name: 'id', field: requiredField(textModel()) }],
      access: 'user',
      run: ([id], { client }) => {
        client.unsubscribe(String(id));
        return null;
      },
    },
    {
      name: 'core.get_jobs',
      parameters: queryParameters,
      access: 'user',
      run: ([filters, query], { nas, client }) => {
        const owner = client.isFullAdmin ? undefined : client.identity?.user.name;
        return applyQuery(nas.jobs.entries(owner), filters, query as QueryOptions);
      },
    },
  ];
}
