"""The seven encoders as the equations of the source say, one sentence, one head and one word at a time.

Nothing here is batched, padded or masked; weights are read from the models of the library.
"""

import math

import torch

from reasonlib.nn import sinusoidal_positions


def linear(layer, x):
    return x @ layer.weight.T + layer.bias


def norm(layer, x):
    rows = []
    for row in x:
        centred = row - row.mean()
        rows.append(centred / torch.sqrt((centred**2).mean() + layer.eps) * layer.weight + layer.bias)
    return torch.stack(rows)


def multi_head(part, q, v):
    """Equations 3.2 and 3.3: one query and one head at a time."""
    size = part.width // part.heads
    queries, keys, values = linear(part.query, q), linear(part.key, v), linear(part.value, v)
    rows = []
    for query in queries:
        heads = []
        for head in range(part.heads):
            own = slice(head * size, (head + 1) * size)
            scores = torch.stack([query[own] @ key[own] / math.sqrt(size) for key in keys])
            shares = torch.exp(scores) / torch.exp(scores).sum()
            heads.append(sum(share * value[own] for share, value in zip(shares, values, strict=True)))
        rows.append(torch.cat(heads))
    return linear(part.output, torch.stack(rows))


def feed_forward(part, x):
    return linear(part.narrow, torch.clamp(linear(part.wide, x), min=0))


def encoder_layer(layer, x):
    """Equation 3.1, with the norm before each part."""
    inner = norm(layer.attention_residual.norm, x)
    x = x + multi_head(layer.attention, inner, inner)
    return x + feed_forward(layer.feed_forward, norm(layer.feed_forward_residual.norm, x))


def gated_sum(part, source, context):
    """Equation 3.8."""
    gate = 1 / (1 + torch.exp(-linear(part.gate, torch.cat((source, context), 1))))
    return gate * source + (1 - gate) * context


def gated_layer(layer, x, t):
    """Equations 3.6 to 3.8."""
    inner = norm(layer.attention_residual.norm, x)
    h_context = multi_head(layer.context_attention, inner, t)
    h_source = multi_head(layer.attention, inner, inner)
    x = x + gated_sum(layer.sum, h_source, h_context)
    return x + feed_forward(layer.feed_forward, norm(layer.feed_forward_residual.norm, x))


def embed(embedding, ids):
    width = embedding.table.embedding_dim
    positions = sinusoidal_positions(len(ids), width).to(embedding.table.weight.dtype)
    return embedding.table.weight[list(ids)] * math.sqrt(width) + positions


def position(number, width):
    return sinusoidal_positions(number + 1, width)[number].double()


def stacked(encoder, x):
    for layer in encoder.layers:
        x = encoder_layer(layer, x)
    return norm(encoder.end, x)


def no_context(part, embedding, source, context):
    return stacked(part.encoder, embed(embedding, source))


def concatenation(part, embedding, source, context):
    return stacked(part.encoder, embed(embedding, [*source, *(id for c in context for id in c)]))  # eq. 3.4


def gated_end(part, embedding, source, t):
    """The encoder of the source, whose last layer attends to what was read of the context."""
    *shared, last = part.encoder.layers
    x = embed(embedding, source)
    for layer in shared:
        x = encoder_layer(layer, x)
    return norm(part.encoder.end, gated_layer(last, x, t))


def dat(part, embedding, source, context):
    t = []
    for number, sentence in enumerate(context):
        x = embed(embedding, sentence)
        for layer in [*list(part.encoder.layers)[:-1], part.context_layer]:
            x = encoder_layer(layer, x)
        t.append(norm(part.context_end, x) + position(number, x.shape[1]))
    return gated_end(part, embedding, source, torch.cat(t))


def dct(part, embedding, source, context):
    t = []
    for number, sentence in enumerate(context):
        x = stacked(part.context_encoder, embed(embedding, sentence))
        t.append(x + position(number, x.shape[1]))
    t, x = torch.cat(t), embed(embedding, source)
    for layer in part.layers:
        x = encoder_layer(layer.layer, x)
        inner = norm(layer.context_residual.norm, x)
        x = x + multi_head(layer.context_attention, inner, t)  # eq. 3.9
        x = x + feed_forward(layer.feed_forward, norm(layer.feed_forward_residual.norm, x))  # eq. 3.10
    return norm(part.end, x)


def han(part, embedding, source, context):
    x, sentences, read = embed(embedding, source), [embed(embedding, c) for c in context], part.hierarchy
    for layer in part.encoder.layers:
        x = encoder_layer(layer, x)
        sentences = [encoder_layer(layer, c) for c in sentences]
        rows = []
        for j in range(len(x)):
            query = norm(read.query_norm, x[j : j + 1])
            s = []
            for number, c in enumerate(sentences):
                e = multi_head(read.word_attention, query, norm(part.encoder.end, c))  # eq. 3.11
                e = norm(read.word_norm, query + feed_forward(read.feed_forward, e))
                s.append(e + position(number, x.shape[1]))
            t = multi_head(read.sentence_attention, query, torch.cat(s))  # eq. 3.12 and 3.13
            t = norm(read.sentence_norm, query + feed_forward(read.feed_forward, t))
            rows.append(gated_sum(read.sum, x[j : j + 1], t))
        x = torch.cat(rows)
    return norm(part.encoder.end, x)


def pool(part, words):
    """Equations 3.15 and 3.16."""
    scores = linear(part.score, multi_head(part.attention, words, words))[:, 0]
    alpha = torch.exp(scores) / torch.exp(scores).sum()
    return sum(share * word for share, word in zip(alpha, words, strict=True))


def document_vector(part, embedding, document):
    """Through one linear map, the mean of the embedded words of a document, in any order."""
    if not document:
        return []
    mean = sum(embedding.table.weight[id] for id in document) / len(document)
    return [linear(part.map, math.sqrt(embedding.table.embedding_dim) * mean)]


def upper_positions(vectors):
    return torch.stack([vector + position(number, len(vector)) for number, vector in enumerate(vectors)])


def hce(part, embedding, source, context, document=()):
    s = document_vector(part.document, embedding, document)
    for sentence in context:
        s.append(pool(part.pooling, stacked(part.encoder, embed(embedding, sentence))))  # eq. 3.14 to 3.16
    t = norm(part.upper.end, encoder_layer(part.upper.layer, upper_positions(s)))  # eq. 3.17
    return gated_end(part, embedding, source, t)


def hmce(part, embedding, source, context, document=()):
    """Return the source and what it read of the context, side by side."""
    s = document_vector(part.document, embedding, document)
    s += [pool(part.pooling, stacked(part.encoder, embed(embedding, sentence))) for sentence in context]
    x, upper = stacked(part.encoder, embed(embedding, source)), part.memory
    own, memory, feed = upper.residuals
    t = upper_positions(s)
    t = t + multi_head(upper.attention, norm(own.norm, t), norm(own.norm, t))
    t = t + multi_head(upper.memory_attention, norm(memory.norm, t), x)
    t = norm(upper.end, t + feed_forward(upper.feed_forward, norm(feed.norm, t)))
    return torch.cat((x, multi_head(part.context_attention, x, t)), 1)


def decoder_layer(layer, x, memory, context=None, context_part=None):
    """The decoder of Vaswani et al., with HMCE's gate where there is a second memory."""
    inner = norm(layer.attention_residual.norm, x)
    x = x + torch.cat([multi_head(layer.attention, inner[j : j + 1], inner[: j + 1]) for j in range(len(x))])
    inner = norm(layer.memory_attention_residual.norm, x)
    read = multi_head(layer.memory_attention, inner, memory)
    if context is not None:
        read = gated_sum(context_part.sum, read, multi_head(context_part.context_attention, inner, context))
    x = x + read
    return x + feed_forward(layer.feed_forward, norm(layer.feed_forward_residual.norm, x))


def logits(model, source, context, given, *document):
    """Score the next target token after each given one."""
    memory = ENCODERS[model.system](model.encoder, model.source, source, context, *document)
    x, width = embed(model.target, given), model.config.width
    if model.system == "hmce":
        memory, read = memory[:, :width], memory[:, width:]
        for layer in model.decoder.layers:
            x = decoder_layer(layer, x, memory)
        x = decoder_layer(model.decoder.last.layer, x, memory, read, model.decoder.last)
        x = norm(model.decoder.end, x)
    else:
        for layer in model.decoder.decoder.layers:
            x = decoder_layer(layer, x, memory)
        x = norm(model.decoder.decoder.end, x)
    return x @ model.target.table.weight.T


ENCODERS = {
    "no-context": no_context,
    "concatenation": concatenation,
    "dat": dat,
    "dct": dct,
    "han": han,
    "hce": hce,
    "hmce": hmce,
}
