"""Texts of torch's exceptions about shapes and axes, and what each of them means."""

from autograder.diagnosis.error_texts import ErrorText

SIZES = r"\[[\d, -]{0,60}\]"
WHICH_AXES = "What does each axis of the two stand for, and which one do they share?"
WHICH_SHAPE = "What is the shape before this step, and what does each of its axes stand for?"
BROADCAST = (  # torch raises the same text for both
    "counted from the last axis, the sizes of each axis must be equal, or one of them 1; in a "
    "matrix product that holds for the axes in front of the last two."
)
WHICH_LIST = "Along which axis are they joined, and which shape has each of them?"

PRODUCTS = (
    ErrorText.of(
        "sizes_of_a_product",
        r"mat1 and mat2 shapes cannot be multiplied "
        r"\((?P<a>\d{1,9})x(?P<b>\d{1,9}) and (?P<c>\d{1,9})x(?P=b)\)",
        "Two matrices are multiplied whose sizes do not fit: the last size of the first must equal "
        "the second last of the second.",
        WHICH_AXES,
        "A matrix of shape ({a}, {b}) is multiplied by one of ({c}, {b}): the last size of the "
        "first, {b}, must equal the second last of the second, {c}. With the second one transposed "
        "they would fit. (A layer nn.Linear(m, n) counts as a matrix of shape (m, n).)",
    ),
    ErrorText.of(
        "sizes_of_a_product",
        r"mat1 and mat2 shapes cannot be multiplied "
        r"\((?P<a>\d{1,9})x(?P<b>\d{1,9}) and (?P<c>\d{1,9})x(?P<d>\d{1,9})\)",
        "Two matrices are multiplied whose sizes do not fit: the last size of the first must equal "
        "the second last of the second.",
        WHICH_AXES,
        "A matrix of shape ({a}, {b}) is multiplied by one of ({c}, {d}): the last size of the "
        "first, {b}, must equal the second last of the second, {c}. (A layer nn.Linear(m, n) "
        "counts as a matrix of shape (m, n).)",
    ),
    ErrorText.of(
        "sizes_of_a_product",
        r"Expected size for first two dimensions of batch2 tensor to be: "
        r"\[(?P<n>\d{1,9}), (?P<b>\d{1,9})\] but got: \[(?P=n), (?P<c>\d{1,9})\]",
        "Batches of matrices are multiplied whose sizes do not fit: the last size of the first "
        "must equal the second last of the second.",
        WHICH_AXES,
        "Batches of matrices are multiplied: the last size of the first, {b}, must equal the "
        "second last of the second, {c}.",
    ),
    ErrorText.of(
        "sizes_of_a_product",
        r"size mismatch, got input \(\d+\), mat \((?P<a>\d{1,9})x(?P<b>\d{1,9})\), "
        r"vec \((?P<c>\d{1,9})\)",
        "A matrix is multiplied by a vector whose sizes do not fit: the last size of the matrix "
        "must equal that of the vector.",
        WHICH_AXES,
        "A matrix of shape ({a}, {b}) is multiplied by a vector of {c} numbers: the last size of "
        "the matrix, {b}, must equal that of the vector.",
    ),
    ErrorText.of(
        "sizes_of_a_product",
        r"inconsistent tensor size, expected tensor \[(?P<a>\d{1,9})\] and src \[(?P<b>\d{1,9})\]",
        "Two vectors of different sizes are multiplied and summed.",
        WHICH_AXES,
        "Two vectors of the sizes {a} and {b} are multiplied and summed; the sizes must be equal.",
    ),
    ErrorText.of(
        "sizes_of_a_product",
        r"einsum\(\): subscript (?P<letter>[A-Za-z]) has size (?P<b>\d{1,9}) for operand \d+ which "
        r"does not broadcast with previously seen size (?P<a>\d{1,9})",
        "In an einsum, one letter stands for axes of different sizes.",
        WHICH_AXES,
        "In an einsum, the letter {letter} stands for an axis of size {a} and for one of size {b}.",
    ),
    ErrorText.of(
        "batches_of_a_product",
        r"Expected size for first two dimensions of batch2 tensor to be: "
        r"\[(?P<n>\d{1,9}), \d{1,9}\] but got: \[(?P<m>\d{1,9}), \d{1,9}\]",
        "Two batches of matrices are multiplied that are not equally long.",
        WHICH_AXES,
        "Two batches of matrices are multiplied that are not equally long: {n} and {m}.",
    ),
    ErrorText.of(
        "axes_of_a_product",
        r"both arguments to matmul need to be at least 1D|1D tensors expected, but got"
        r"|batch[12] must be a 3D tensor|(?:self|mat2) must be a matrix"
        r"|einsum\(\): the number of subscripts in the equation",
        "A product gets a tensor with another number of axes than it takes.",
        WHICH_SHAPE,
    ),
)
SHAPES = (
    ErrorText.of(
        "sizes_do_not_broadcast",
        r"The size of tensor a \((?P<a>\d{1,9})\) must match the size of tensor b "
        r"\((?P<b>\d{1,9})\) at non-singleton dimension (?P<axis>\d)",
        f"Two tensors meet whose sizes do not fit: {BROADCAST}",
        WHICH_AXES,
        "Two tensors meet with the sizes {a} and {b} in one axis: " + BROADCAST,
    ),
    ErrorText.of(
        "sizes_do_not_broadcast",
        rf"output with shape (?P<a>{SIZES}) doesn't match the broadcast shape (?P<b>{SIZES})",
        "An operation in place can't change the shape of its tensor.",
        WHICH_SHAPE,
        "An operation in place can't change the shape of its tensor: it is {a}, and the result "
        "would have {b}.",
    ),
    ErrorText.of(
        "sizes_do_not_broadcast",
        r"The expanded size of the tensor \(\d+\) must match the existing size \(\d+\) at "
        rf"non-singleton dimension \d+\.  Target sizes: (?P<b>{SIZES})\.  "
        rf"Tensor sizes: (?P<a>{SIZES})",
        "A tensor is to fill a shape that does not fit: only an axis of size 1 can grow.",
        WHICH_SHAPE,
        "A tensor of shape {a} is to fill the shape {b}: only an axis of size 1 can grow.",
    ),
    ErrorText.of(
        "shape_of_the_mask",
        rf"The shape of the mask (?P<a>{SIZES}) at index \d+ does not match the shape of the "
        rf"indexed tensor (?P<b>{SIZES})",
        "The mask in the index has another shape than the tensor.",
        WHICH_SHAPE,
        "The mask in the index has the shape {a}, and the tensor {b}.",
    ),
    ErrorText.of(
        "view_of_another_size",
        rf"shape '(?P<a>{SIZES})' is invalid for input of size (?P<n>\d{{1,12}})",
        "view and reshape keep all numbers: the product of the new sizes must be as large as that "
        "of the old ones.",
        WHICH_SHAPE,
        "A tensor of {n} numbers can't take the shape {a}: view and reshape keep all numbers, so "
        "the sizes must have the product {n}.",
    ),
    ErrorText.of(
        "view_of_another_size",
        rf"unflatten: Provided sizes (?P<a>{SIZES}) don't multiply up to the size of dim -?\d+ "
        r"\((?P<n>\d{1,9})\)",
        "An axis is split into sizes whose product is another size.",
        WHICH_SHAPE,
        "An axis of size {n} can't be split into {a}: their product must be {n}.",
    ),
    ErrorText.of(
        "view_of_another_order",
        r"view size is not compatible with input tensor's size and stride",
        "view takes the numbers in the order in which they lie in memory, and that is no longer "
        "the order of the axes, as after a transposition.",
        "Which step before exchanged axes, and what puts the numbers into the new order?",
    ),
    ErrorText.of(
        "size_is_a_fraction",
        r"\w{1,80}\(\): argument '\w{1,80}' failed to unpack the object at pos \d+ with error "
        r"\"type must be tuple of ints,but got float"
        r"|\w{1,80}\(\): argument 'size' \(position 1\) must be tuple of ints, but found element "
        r"of type float"
        r"|view\(\) received an invalid combination of arguments - got \([^)]{0,80}float",
        "A size is not a whole number: / gives a float also where nothing remains.",
        "Which division should give a whole number?",
    ),
    ErrorText.of(
        "no_such_axis",
        r"Dimension out of range \(expected to be in range of \["
        r"(?P<a>-?\d{1,3}), (?P<b>-?\d{1,3})\], but got (?P<axis>-?\d{1,9})\)",
        "An axis is named that does not exist here.",
        "How many axes has the tensor in this line, and which number has the one that is meant?",
        "Axis {axis} does not exist here: the possible numbers are {a} to {b}.",
    ),
    ErrorText.of(
        "no_such_axis",
        r"permute\(\w{1,80}\): number of dimensions in the tensor input does not match .{0,90}"
        r"input\.dim\(\) = (?P<a>\d{1,3}) is not equal to len\(dims\) = (?P<b>\d{1,3})",
        "permute needs one number for each axis of the tensor.",
        WHICH_SHAPE,
        "permute gets {b} numbers, and the tensor has {a} axes: it needs one for each.",
    ),
    ErrorText.of(
        "no_such_axis",
        r"tensor\.m?[TH] is only supported on|tri[ul]: input tensor must have at least 2 dim",
        "This step needs a matrix, and the tensor has fewer than two axes.",
        WHICH_SHAPE,
    ),
    ErrorText.of(
        "no_such_axis",
        r"too many indices for tensor of dimension (?P<n>\d{1,3})",
        "A tensor is indexed with more numbers than it has axes.",
        WHICH_SHAPE,
        "A tensor with {n} axes is indexed with more numbers than that.",
    ),
    ErrorText.of(
        "no_such_index",
        r"index (?P<i>-?\d{1,9}) is out of bounds for dimension (?P<axis>\d{1,3}) with size "
        r"(?P<n>\d{1,9})",
        "An index is larger than the axis allows.",
        "Where does the index start and end, and how long is the axis?",
        "Index {i} does not exist in axis {axis}, which has the size {n}: its last index is one "
        "less.",
    ),
    ErrorText.of(
        "values_and_names",
        r"not enough values to unpack \(expected (?P<a>(?:at least )?\d{1,3}), got (?P<b>\d{1,3})",
        "More names stand before the = than there are values; a shape has one value for each axis.",
        WHICH_SHAPE,
        "The names before the = need {a} values, and there are {b}; a shape has one value for "
        "each axis.",
    ),
    ErrorText.of(
        "values_and_names",
        r"too many values to unpack \(expected (?P<a>\d{1,3})",
        "Fewer names stand before the = than there are values; a shape has one value for each "
        "axis.",
        WHICH_SHAPE,
        "The names before the = take {a} values, and there are more; a shape has one value for "
        "each axis.",
    ),
)
JOINS = (
    ErrorText.of(
        "sizes_of_joined",
        r"Sizes of tensors must match except in dimension (?P<axis>\d{1,3})\. Expected size "
        r"(?P<a>\d{1,9}) but got size (?P<b>\d{1,9}) for tensor number (?P<n>\d{1,3}) in the list",
        "The tensors that are concatenated differ in another axis than the one along which they "
        "are joined.",
        WHICH_LIST,
        "Along axis {axis}, tensors are concatenated that differ in another axis: one has the size "
        "{a} there, one {b}.",
    ),
    ErrorText.of(
        "sizes_of_joined",
        r"Tensors must have same number of dimensions: got (?P<a>\d{1,3}) and (?P<b>\d{1,3})",
        "The tensors that are concatenated have different numbers of axes.",
        WHICH_LIST,
        "The tensors that are concatenated have different numbers of axes: {a} and {b}.",
    ),
    ErrorText.of(
        "sizes_of_joined",
        rf"stack expects each tensor to be equal size, but got (?P<a>{SIZES}) at entry \d+ and "
        rf"(?P<b>{SIZES}) at entry \d+",
        "The tensors that are stacked have different shapes.",
        WHICH_LIST,
        "The tensors that are stacked have different shapes: {a} and {b}.",
    ),
    ErrorText.of(
        "nothing_to_join",
        r"torch\.cat\(\): expected a non-empty list|stack expects a non-empty TensorList",
        "A list of tensors is joined that is empty.",
        "Where is the list filled, and how often does that line run?",
    ),
    ErrorText.of(
        "one_to_join",
        r"(?:cat|concat|stack)\(\): argument 'tensors' \(position 1\) must be tuple of Tensors, "
        r"not Tensor",
        "A single tensor is joined; cat and stack take a list of tensors.",
        "Which tensors are to be joined?",
    ),
)
SHAPE_ERRORS: tuple[ErrorText, ...] = (*PRODUCTS, *SHAPES, *JOINS)
